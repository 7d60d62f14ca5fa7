// All layers × heads at a glance: one small attention map a head, drawn on one canvas.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const stage = stageOf(parentElement);
  // Made once and then given new data, so that the canvas keeps the keyboard's focus.
  stage.heads ??= headGrid(stage);
  stage.heads(data, (layer, head) => setTriggerValue("chosen", { layer, head }));
}

// Makes the canvas and returns the function that shows data on it.
function headGrid(stage) {
  let data, maps, layers, heads, side, chosen, tell, grid;
  let pointed = null;
  let painted = {}; // the tiles as they were last painted, and for which size and data

  const canvas = element("canvas", {
    class: "heads", tabindex: 0, role: "application",
    onpointermove: (event) => point(at(event)), onpointerleave: () => point(null),
    onclick: (event) => choose(at(event)), onkeydown: step,
  });
  const reading = element("p", { class: "reading", "aria-live": "polite" });
  stage.replaceChildren(canvas, reading);
  new ResizeObserver(() => data && draw()).observe(stage);

  return function show(newData, newTell) {
    [data, tell] = [newData, newTell];
    maps = unpacked(data.maps);
    [layers, heads, side] = maps.shape;
    chosen = [data.layer, data.head];
    canvas.setAttribute("aria-label", data.alt);
    draw();
  };

  // Wide pages show layers from left to right; narrow ones from top to bottom.
  function layout() {
    const scale = Number(getComputedStyle(stage).getPropertyValue("--scale")) || 1;
    const type = 14 * scale;
    const margin = { left: 44 * scale, top: type * 2.4, gap: 3 };
    const width = stage.clientWidth || 800;
    const across = (width - margin.left) / layers >= 20;
    const [columns, rows] = across ? [layers, heads] : [heads, layers];
    const cell = Math.max(8, Math.min(56 * scale, Math.floor((width - margin.left) / columns)));
    return { across, columns, rows, cell, type, ...margin, width, height: margin.top + rows * cell + 4 };
  }

  function draw() {
    grid = layout();
    const ratio = window.devicePixelRatio || 1;
    canvas.width = grid.width * ratio;
    canvas.height = grid.height * ratio;
    canvas.style.height = `${grid.height}px`;
    const ink = canvas.getContext("2d");
    ink.scale(ratio, ratio);
    const colour = (name) => getComputedStyle(stage).getPropertyValue(`--${name}`).trim();
    labels(ink, colour);
    ink.drawImage(tiles(ratio), 0, 0, grid.width, grid.height);
    outline(ink, chosen, colour("ink"), 2.5);
    if (pointed) outline(ink, pointed, colour("accent"), 2);
    read();
  }

  function corner(layer, head) {
    const [column, row] = grid.across ? [layer, head] : [head, layer];
    return [grid.left + column * grid.cell, grid.top + row * grid.cell];
  }

  // All maps on a canvas of their own: pointing at one and choosing one need not paint them anew.
  function tiles(ratio) {
    const now = { maps: data.maps.f32, most: data.most, width: canvas.width, height: canvas.height };
    if (Object.keys(now).every((name) => now[name] === painted[name])) return painted.canvas;
    painted = { ...now, canvas: new OffscreenCanvas(canvas.width, canvas.height) };
    const ink = painted.canvas.getContext("2d");
    ink.scale(ratio, ratio);
    for (let layer = 0; layer < layers; layer += 1) {
      for (let head = 0; head < heads; head += 1) tile(ink, layer, head, ratio);
    }
    return painted.canvas;
  }

  function tile(ink, layer, head, ratio) {
    const image = new ImageData(side, side);
    const from = (layer * heads + head) * side * side;
    for (let i = 0; i < side * side; i += 1) {
      const weight = maps.data[from + i];
      if (Number.isNaN(weight)) continue; // masked: empty, not zero
      const shade = data.scale[Math.min(255, Math.max(0, Math.round((weight / data.most) * 255)))];
      image.data.set([shade[0], shade[1], shade[2], 255], i * 4);
    }
    const small = new OffscreenCanvas(side, side);
    small.getContext("2d").putImageData(image, 0, 0);
    const [x, y] = corner(layer, head);
    const size = grid.cell - grid.gap;
    ink.imageSmoothingEnabled = size * ratio < side;
    ink.drawImage(small, x, y, size, size);
  }

  function labels(ink, colour) {
    ink.fillStyle = colour("muted");
    ink.font = `${grid.type}px "Source Sans", sans-serif`;
    ink.textBaseline = "middle";
    const middle = (grid.cell - grid.gap) / 2;
    const every = (size) => Math.max(1, Math.ceil((grid.type * 1.6) / size));
    ink.textAlign = "left";
    ink.fillText(grid.across ? "layer →" : "head →", grid.left, grid.type * 0.6);
    ink.textAlign = "center";
    for (let i = 0; i < grid.columns; i += every(grid.cell)) {
      ink.fillText(String(i), grid.left + i * grid.cell + middle, grid.type * 1.75);
    }
    ink.textAlign = "right";
    for (let i = 0; i < grid.rows; i += every(grid.cell)) {
      ink.fillText(String(i), grid.left - 14, grid.top + i * grid.cell + middle);
    }
    ink.textAlign = "left";
    ink.fillText(grid.across ? "head" : "layer", 0, grid.type * 1.75);
    brackets(ink, colour);
  }

  // Query heads that share one KV head are joined by a bracket.
  function brackets(ink, colour) {
    const group = heads / data.kvHeads;
    if (group === 1) return;
    ink.strokeStyle = colour("key");
    ink.lineWidth = 2;
    for (let kv = 0; kv < data.kvHeads; kv += 1) {
      const start = kv * group * grid.cell + 1;
      const end = (kv + 1) * group * grid.cell - grid.gap - 1;
      ink.beginPath();
      if (grid.across) {
        ink.moveTo(grid.left - 6, grid.top + start);
        ink.lineTo(grid.left - 6, grid.top + end);
      } else {
        ink.moveTo(grid.left + start, grid.top - 5);
        ink.lineTo(grid.left + end, grid.top - 5);
      }
      ink.stroke();
    }
  }

  function outline(ink, [layer, head], colour, width) {
    const [x, y] = corner(layer, head);
    ink.strokeStyle = colour;
    ink.lineWidth = width;
    ink.strokeRect(x - 1, y - 1, grid.cell - grid.gap + 2, grid.cell - grid.gap + 2);
  }

  function at(event) {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - grid.left) / grid.cell);
    const row = Math.floor((event.clientY - box.top - grid.top) / grid.cell);
    const [layer, head] = grid.across ? [column, row] : [row, column];
    return layer >= 0 && layer < layers && head >= 0 && head < heads ? [layer, head] : null;
  }

  function point(where) {
    if (String(where) === String(pointed)) return;
    pointed = where;
    draw();
  }

  function choose(where) {
    if (!where) return;
    chosen = where;
    draw();
    tell(...where);
  }

  function step(event) {
    const [right, down] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key] || [0, 0];
    if (!right && !down) return;
    event.preventDefault();
    const [byLayer, byHead] = grid.across ? [right, down] : [down, right];
    const clamp = (value, count) => Math.min(Math.max(value, 0), count - 1);
    choose([clamp(chosen[0] + byLayer, layers), clamp(chosen[1] + byHead, heads)]);
  }

  function read() {
    const [layer, head] = pointed || chosen;
    const i = layer * heads + head;
    const group = heads / data.kvHeads;
    reading.textContent = `Layer ${layer}, head ${head}: ${Math.round(data.onFirst[i] * 100)}% of its weight on `
      + `the first token, ${data.distance[i].toFixed(1)} tokens back on average`
      + (group > 1 ? `; it reads KV head ${Math.floor(head / group)}.` : ".");
  }
}
