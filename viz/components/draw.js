// Same pin, new strip. The whole vocabulary lies end to end, likeliest first, width = probability;
// a pin stands at the drawn number u. Every move is worked out here (draw_arithmetic.js); Python
// hears the settings when the hand rests.

const SMALLEST = 3; // px; narrower tokens are pooled in one block
const HOLD = 400; // ms that cut tokens stay, hatched, before the rest takes their place
const CLOSE = 350; // ms of closing up; the same in draw.css
const REST = 250; // ms after the last input until Python hears
const DROPS = 100;
const COUNT_ROWS = 5;
const TABLE_ROWS = 20;
const TOP_K_STEPS = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500,
  1000, 2000, 3000, 5000, 10000, 20000, 50000, 100000, 200000];

// Where the hand left each component: if the page mounts it anew, it starts from there.
const lastPosition = new Map();

export default function ({ parentElement, data, setStateValue }) {
  const stage = stageOf(parentElement);
  const view = (stage.view ??= newView(stage));
  view.send = (settings) => setStateValue("settings", settings);
  receive(view, data);
  return () => {
    view.resize.disconnect();
    clearTimeout(view.rest);
    clearTimeout(view.hold);
  };
}

// ---- what the picture is made from -------------------------------------------------------------

function newView(stage) {
  const view = { stage, settings: {}, held: 0, reading: null, rugSeeds: [], durations: [] };
  view.parts = build(view);
  stage.append(...view.parts.blocks);
  view.resize = new ResizeObserver(() => {
    measure(view);
    draw(view);
  });
  view.resize.observe(view.parts.strip);
  return view;
}

function receive(view, data) {
  if (data.logits.f32 !== view.packedLogits || data.labels !== view.packedLabels) {
    view.packedLogits = data.logits.f32;
    view.packedLabels = data.labels;
    view.sorted = sortedByLogit(unpacked(data.logits).data);
    view.labels = unpackedText(data.labels).split("\n");
    view.parts.title.textContent = `One pin, ${count(view.labels.length)} tokens: which is next?`;
    view.parts.segments.replaceChildren();
    view.reading = null;
  }
  measure(view);
  view.key = data.key;
  view.defaults = data.defaults;
  view.uniforms = new Map(data.seeds.map((seed, i) => [seed, data.uniforms[i]]));
  if (data.revision !== view.revision) {
    view.revision = data.revision;
    const last = lastPosition.get(data.key);
    view.settings = { ...(last?.revision === data.revision ? last.settings : data.settings) };
    view.held = 0;
  }
  setRanges(view, data.limits);
  move(view);
}

// Widths in px, asked of the browser only when they can have changed (the type grows in
// classroom mode), so that a move never waits for the layout.
function measure(view) {
  const style = getComputedStyle(view.parts.segments);
  view.width = view.parts.strip.clientWidth;
  view.unit = parseFloat(style.fontSize);
  view.ruler = document.createElement("canvas").getContext("2d");
  view.ruler.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  view.nameWidths = [];
}

function unpackedText(base64) {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)));
}

const label = (view, rank) => view.labels[view.sorted.ids[rank]];
const probability = (view, rank) => view.stages.weights[rank] / view.stages.total;
const cumulative = (view, rank) => (rank < 0 ? 0 : view.stages.running[rank] / view.stages.total);
const isGreedy = (view) => view.settings.temperature === 0;

// ---- the parts of the page ---------------------------------------------------------------------

function build(view) {
  const parts = { ...buildBoard(view), ...buildCounts(), ...buildTable(view) };
  parts.controls = CONTROLS.map((control) => buildControl(view, control));
  parts.entropy = element("p", {});
  parts.details.append(parts.entropy);
  parts.stages = element("ol", { class: "stages", "aria-label": "What is left after each stage" });
  parts.live = element("div", { class: "unseen", "aria-live": "polite" });
  parts.title = element("h3", {});
  parts.again = element("button", { type: "button", onclick: () => dropAgain(view) }, "Drop again");
  parts.hundred = element("button", { type: "button", "aria-pressed": "false",
    onclick: () => toggleRug(view) }, `Drop ${DROPS}`);
  const reset = element("button", { type: "button", onclick: () => resetSettings(view) }, "Reset");
  parts.blocks = [
    parts.title,
    element("p", { class: "instruction" }, "Each block is one token, as wide as its probability. "
      + "Move the temperature: the strip stretches, the pin stays where it fell."),
    element("div", { class: "controls" }, ...parts.controls.map((control) => control.block)),
    parts.board,
    element("div", { class: "buttons" }, parts.again, parts.hundred, reset),
    parts.stages,
    parts.counts,
    element("p", { class: "small muted" }, "Logits: from the model. Probabilities: by formula, "
      + "e^(logit ÷ T) divided by the sum of all of them. u: from the seed's random generator."),
    parts.details,
    parts.live,
  ];
  return parts;
}

function buildBoard(view) {
  const segments = element("div", { class: "segments" });
  const pools = ["pool", "pool cut"].map((kind) =>
    element("div", { class: kind }, element("span", {})));
  const frame = element("div", { class: "frame", hidden: true });
  const strip = element("div", {
    class: "strip", tabindex: 0, role: "slider", "aria-valuemin": 1,
    "aria-label": "The tokens, likeliest first. Left and Right read them.",
    onkeydown: (event) => readByKey(view, event),
    onpointermove: (event) => read(view, rankUnder(view, event)),
    onpointerdown: (event) => read(view, rankUnder(view, event)),
    onpointerleave: () => read(view, null),
    onfocus: () => read(view, view.reading ?? 0),
    onblur: () => read(view, null),
  }, segments, ...pools, frame);
  const pin = element("div", { class: "pin" });
  const flag = { before: element("span", {}), drawn: element("span", {}), token: element("bdi", {}),
    chance: element("span", {}), after: element("span", {}) };
  flag.text = element("span", { class: "flag" }, flag.drawn, flag.token, flag.chance);
  const rug = element("div", { class: "rug", hidden: true });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((u) => element("span", {}, String(u)));
  const caption = element("p", { class: "caption" });
  const pooled = element("p", { class: "pooled muted" });
  const board = element("div", { class: "board", role: "figure" },
    element("div", { class: "flags" }, flag.before, flag.text, flag.after),
    element("div", { class: "field" }, strip, rug, pin),
    element("div", { class: "ticks small muted", "aria-hidden": "true" }, ...ticks),
    element("div", { class: "captions" }, caption, pooled));
  return { board, strip, segments, pools, frame, pin, flag, rug, caption, pooled };
}

function buildCounts() {
  const rows = Array.from({ length: COUNT_ROWS + 1 }, () => {
    const row = { token: element("bdi", { class: "mono" }), bar: element("i", {}),
      mark: element("b", {}), count: element("span", {}) };
    row.line = element("li", {}, row.token,
      element("span", { class: "bar", "aria-hidden": "true" }, row.bar, row.mark), row.count);
    return row;
  });
  const title = element("p", {});
  const counts = element("div", { class: "counts", hidden: true }, title,
    element("ul", {}, ...rows.map((row) => row.line)));
  return { counts, countTitle: title, countRows: rows };
}

function buildTable(view) {
  const heads = ["Rank", "Token", "Token ID", "Logit", "Probability at T", "Kept?",
    "After the cuts", "Cumulative"];
  const rows = Array.from({ length: TABLE_ROWS }, () =>
    element("tr", {}, ...heads.map((_, i) => element("td", {}, i === 1 ? element("bdi", {}) : ""))));
  const table = element("table", {},
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...rows));
  const details = element("details", { ontoggle: () => drawTable(view) },
    element("summary", {}, `The first ${TABLE_ROWS} tokens as a table`),
    element("div", { class: "sideways", tabindex: 0, role: "region", "aria-label": "Table" }, table));
  return { details, tableRows: rows };
}

// ---- controls ----------------------------------------------------------------------------------

const CONTROLS = [
  {
    name: "temperature",
    title: "Temperature T",
    shown: (value) => value.toFixed(2),
    hint: (value) => {
      if (value === 0) return "greedy: always the likeliest token";
      if (value === 1) return "the model's own probabilities";
      return value < 1 ? "likely tokens gain" : "unlikely tokens gain";
    },
  },
  {
    name: "top_k",
    title: "Top-k",
    shown: (value) => (value === 0 ? "off" : count(value)),
    hint: (value) => (value === 0 ? "all tokens stay" : `only the ${count(value)} likeliest stay`),
  },
  {
    name: "top_p",
    title: "Top-p",
    shown: (value) => (value === 1 ? "off" : value.toFixed(2)),
    hint: (value) => (value === 1
      ? "all tokens stay" : `the likeliest, until they hold ${Math.round(value * 100)}%`),
  },
  {
    name: "min_p",
    title: "Min-p",
    shown: (value) => (value === 0 ? "off" : value.toFixed(2)),
    hint: (value) => (value === 0
      ? "all tokens stay" : `at least ${Math.round(value * 100)}% as likely as the first`),
  },
];

function buildControl(view, control) {
  const output = element("output", { class: "mono" });
  const hint = element("span", { class: "hint small muted" });
  const slider = element("input", { type: "range",
    oninput: () => change(view, control.name, fromSlider(view, control.name, slider)) });
  const block = element("label", { class: "control" },
    element("span", { class: "reading" }, control.title, output), slider, hint);
  return { ...control, block, slider, output, hint };
}

// The top-k slider walks over steps, the last of which is 0, off: further right keeps more.
function setRanges(view, limits) {
  const size = view.labels.length;
  const steps = new Set([...TOP_K_STEPS, view.settings.top_k].filter((k) => k > 0 && k < size));
  view.topKSteps = [...[...steps].sort((a, b) => a - b), 0];
  const ranges = { ...limits, top_k: [0, view.topKSteps.length - 1, 1] };
  for (const { name, slider } of view.parts.controls) {
    [slider.min, slider.max, slider.step] = ranges[name];
  }
  view.parts.strip.setAttribute("aria-valuemax", size);
}

function fromSlider(view, name, slider) {
  return name === "top_k" ? view.topKSteps[slider.value] : Number(slider.value);
}

function toSlider(view, name) {
  const value = view.settings[name];
  return name === "top_k" ? view.topKSteps.indexOf(value) : value;
}

function drawControls(view) {
  for (const control of view.parts.controls) {
    const value = view.settings[control.name];
    control.slider.value = toSlider(view, control.name);
    control.slider.setAttribute("aria-valuetext", `${control.shown(value)}, ${control.hint(value)}`);
    control.output.textContent = control.shown(value);
    control.hint.textContent = control.hint(value);
  }
}

// ---- a move ------------------------------------------------------------------------------------

// One input of a slider. A cut first shows what it takes away: the strip keeps its old length,
// `held` tokens, for a moment.
function change(view, name, value) {
  const before = Math.max(view.held, view.stages.kept);
  view.settings[name] = value;
  clearTimeout(view.hold);
  view.held = 0;
  if (name !== "temperature") {
    view.held = before;
    view.hold = setTimeout(() => closeUp(view), HOLD);
  }
  move(view);
  tellPython(view);
}

function closeUp(view) {
  const { strip } = view.parts;
  view.held = 0;
  strip.classList.toggle("closing", !calm());
  draw(view);
  setTimeout(() => strip.classList.remove("closing"), CLOSE);
}

function resetSettings(view) {
  view.settings = { ...view.defaults, seed: view.settings.seed };
  view.held = 0;
  move(view);
  tellPython(view);
}

// The next seed whose u is known; after the last, the first again.
function dropAgain(view) {
  const next = view.settings.seed + 1;
  view.settings.seed = view.uniforms.has(next) ? next : view.uniforms.keys().next().value;
  move(view);
  tellPython(view);
  if (!calm()) {
    view.parts.pin.animate([{ transform: "translateY(-3em)", opacity: 0 }, {}],
      { duration: 250, easing: "ease-in" });
  }
}

// The pins of the next hundred seeds known, this one's first; pressed again, they are lifted.
function toggleRug(view) {
  const seeds = [...view.uniforms.keys()];
  const from = seeds.indexOf(view.settings.seed);
  view.rugSeeds = view.rugSeeds.length ? []
    : Array.from({ length: DROPS }, (_, i) => seeds[(from + i) % seeds.length]);
  view.parts.rug.replaceChildren(...view.rugSeeds.map((seed) =>
    element("i", { style: `left: ${view.uniforms.get(seed) * 100}%` })));
  move(view);
}

function tellPython(view) {
  lastPosition.set(view.key, { revision: view.revision, settings: { ...view.settings } });
  clearTimeout(view.rest);
  view.rest = setTimeout(() => {
    view.parts.live.textContent = takeaway(view);
    view.send({ ...view.settings });
  }, REST);
}

function move(view) {
  const start = performance.now();
  view.stages = stagesOf(view.sorted, view.settings);
  view.hit = drawAt(view.stages, view.uniforms.get(view.settings.seed));
  draw(view);
  view.durations = [...view.durations.slice(-19), performance.now() - start];
  view.stage.dataset.moveMs = view.durations.map((ms) => ms.toFixed(2)).join(" ");
}

// ---- drawing -----------------------------------------------------------------------------------

function draw(view) {
  drawControls(view);
  drawStrip(view);
  drawPin(view);
  drawReading(view);
  drawStages(view);
  drawCounts(view);
  drawTable(view);
  view.parts.board.setAttribute("aria-label", takeaway(view));
}

function drawStrip(view) {
  const { kept, running } = view.stages;
  view.shown = Math.max(view.held, kept);
  const length = running[view.shown - 1];
  view.edge = (rank) => (rank < 0 ? 0 : (view.width * running[rank]) / length);
  let rank = 0;
  while (rank < view.shown && view.edge(rank) - view.edge(rank - 1) >= SMALLEST) {
    drawSegment(view, rank);
    rank += 1;
  }
  const segments = view.parts.segments.children;
  for (let unused = rank; unused < segments.length; unused += 1) segments[unused].hidden = true;
  const firstCut = Math.max(rank, kept);
  drawPool(view, view.parts.pools[0], rank, firstCut, "more");
  drawPool(view, view.parts.pools[1], firstCut, view.shown, "cut");
}

function drawSegment(view, rank) {
  const width = view.edge(rank) - view.edge(rank - 1);
  const segment = view.parts.segments.children[rank] ?? addSegment(view, rank);
  const [name, chance] = segment.children;
  const isCut = rank >= view.stages.kept;
  segment.hidden = false;
  segment.className = isCut ? "segment cut" : "segment";
  segment.classList.toggle("hit", rank === view.hit && !view.held);
  place(segment, view.edge(rank - 1), width);
  name.hidden = width < view.unit || width < nameWidth(view, rank) + view.unit;
  chance.hidden = name.hidden || view.held > 0 || width < 4 * view.unit;
  if (!chance.hidden) chance.textContent = percent(probability(view, rank));
}

function addSegment(view, rank) {
  const segment = element("div", {}, element("bdi", {}, label(view, rank)), element("span", {}));
  view.parts.segments.append(segment);
  return segment;
}

// The tokens from rank `from` up to `to`, too narrow to be drawn one by one.
function drawPool(view, pool, from, to, word) {
  const width = view.edge(to - 1) - view.edge(from - 1);
  const share = view.stages.running[view.shown - 1];
  const part = (view.stages.running[to - 1] - (view.stages.running[from - 1] ?? 0)) / share;
  const text = `${count(to - from)} ${word} ${to - from === 1 ? "token" : "tokens"}, ${percent(part)}`;
  const fits = view.ruler.measureText(text).width + 2 * view.unit < width;
  pool.hidden = from >= to;
  place(pool, view.edge(from - 1), width);
  pool.firstChild.textContent = fits ? text : "";
  if (word === "more") {
    view.parts.pooled.textContent = fits || pool.hidden ? "" : `Hatched: ${text}`;
  }
}

function place(node, left, width) {
  node.style.left = `${left}px`;
  node.style.width = `${width}px`;
}

function nameWidth(view, rank) {
  return (view.nameWidths[rank] ??= view.ruler.measureText(label(view, rank)).width);
}

// The label stands right of the pin, past u = .7 left of it; it gives way at the strip's ends.
function drawPin(view) {
  const { pin, rug, flag } = view.parts;
  const u = view.uniforms.get(view.settings.seed);
  const greedy = isGreedy(view);
  pin.hidden = greedy;
  rug.hidden = greedy || view.rugSeeds.length === 0;
  pin.style.left = `${u * 100}%`;
  const left = u > 0.7 || greedy;
  flag.text.classList.toggle("left", u > 0.7);
  flag.before.style.flexBasis = greedy ? "0" : u > 0.7 ? "auto" : `${u * 100}%`;
  flag.after.style.flexBasis = u > 0.7 && !greedy ? `${(1 - u) * 100}%` : "auto";
}
