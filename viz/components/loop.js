// The loop: one run of the model as one continuous picture. Python sends it from viz/loop.py.
//
// A station is a titled part of the picture; its body is a block of columns with one row a token,
// so that a token can be followed straight across. Rows only cross where tokens look at each other.
// The stations are laid out by the style sheet; the flow between them is drawn afterwards, over
// the places where they came to stand.

// Ways to lay the stations out, and the least width of each in units of text size: all in one band,
// the last three in a band below, or one under the other.
const LEAST_WIDTH = { "one-band": 78, "two-bands": 58, folded: 0 };
const FLIGHT_MS = 500;
const LEAST_WEIGHT = 0.005; // Attention below this is a dot in the triangle, but no line.
const STRIP_CENTRE = 0.38; // Where in a row's height the strips stand, and where the stream runs.
const STREAM_CENTRE = 0.84;
const LOOKED_AT = 0.05; // From this weight on, the key and the value looked at stand out.
const DOT_RADIUS = 0.7; // Of a whole weight, in columns: two halves side by side just touch.
const WHOLE_WEIGHT = 0.6; // Width of its line, in units of text size.

export default function (component) {
  const stage = stageOf(component.parentElement);
  const before = stage.loopView;
  if (before) before.observer.disconnect();
  const view = {
    stage,
    data: withArrays(component.data),
    // A selection is an event, too: a state would not be reported when the same token is chosen
    // again after Python has moved the selection elsewhere.
    tell: (name, value) => component.setTriggerValue(name, value),
    row: component.data.selected - component.data.first_position,
    pointed: null,
    observer: new ResizeObserver(() => (view.figure && stage.clientWidth === view.width ? mark : draw)(view)),
  };
  stage.loopView = view;
  draw(view);
  view.observer.observe(stage);
  // Text takes its final width only when the page's fonts are there.
  document.fonts.ready.then(() => stage.loopView === view && view.figure && mark(view));
  if (view.figure && grewSince(before, view)) fly(view);
  return () => view.observer.disconnect();
}

function withArrays(data) {
  const arrays = Object.entries(data)
    .filter(([, value]) => value && value.f32)
    .map(([name, value]) => [name, unpacked(value)]);
  return { ...data, ...Object.fromEntries(arrays) };
}

// A token flies once: not again when the same run is drawn anew for another layer or head.
function grewSince(before, view) {
  const total = view.data.positions_total;
  return view.data.grew && (!before || before.data.positions_total !== total);
}

// ---- Sizes -------------------------------------------------------------------------------------

function sizes(view, layout) {
  const { data, unit } = view;
  const width = view.width / unit;
  const folded = layout === "folded";
  const rows = data.labels.length;
  const page = Math.min(width, 26);
  const roomy = rows <= 5 ? Math.min(4.5, 15 / rows) : Math.max(1.75, 18 / rows);
  const pitch = folded ? 1.75 : roomy;
  const dot = Math.min(1.5, pitch * 0.5, (folded ? Math.min(11, page - 10.5) : 5.5) / rows);
  // What there is beyond the least width goes to the strips and to the lines between them.
  const spare = width - LEAST_WIDTH[layout];
  const strip = folded ? (page - 9.5) / 3 : Math.min(3, 1.75 + spare / 5);
  const embedding = folded ? page - 8.5 : 7;
  const cell = Math.max(2, Math.round(unit * 0.1875));
  const count = (units, array) =>
    Math.max(1, Math.min(Math.floor((units * unit) / cell), array.shape[1]));
  const embeddingCells = count(embedding, data.embedding);
  return {
    layout, folded, cell, embeddingCells,
    embeddingCell: Math.max(cell, Math.floor((embedding * unit) / embeddingCells)),
    pitch: pitch * unit,
    fan: (1.25 + Math.min(2, spare / 6)) * unit,
    dot: dot * unit,
    headCells: count(strip, data.query),
    streamCells: count(strip, data.embedding),
  };
}

// ---- The picture -------------------------------------------------------------------------------

function draw(view) {
  const { stage } = view;
  const focused = stage.getRootNode().activeElement?.dataset.focus;
  view.width = stage.clientWidth;
  if (view.width === 0) return; // not on show yet, or no longer: the observer draws it when it is
  view.colours = coloursOf(stage);
  view.unit = parseFloat(getComputedStyle(stage).fontSize);
  // Long token IDs or many heads may need more than a layout's least width: then the next one.
  for (const [layout, least] of Object.entries(LEAST_WIDTH)) {
    if (view.width < least * view.unit) continue;
    layOut(view, layout);
    if (view.figure.scrollWidth <= view.figure.clientWidth) break;
  }
  mark(view);
  if (focused) stage.querySelector(`[data-focus="${focused}"]`)?.focus();
}

function layOut(view, layout) {
  view.size = sizes(view, layout);
  view.flow = element("svg", { class: "flow", "aria-hidden": "true" });
  const { folded, pitch, fan } = view.size;
  view.figure = element("div", {
    class: folded ? "loop folded" : `loop beside ${layout}`,
    role: "figure",
    "aria-label": view.data.alt,
    style: `--pitch: ${pitch}px; --fan: ${fan}px; --strip-centre: ${STRIP_CENTRE}`,
  }, view.flow, ...stations(view), caption(view));
  view.stage.replaceChildren(view.figure);
}

function stations(view) {
  const { data, size } = view;
  const upper = [
    tokenStation(view), embeddingStation(view), otherLayers("before", 0, data.layer - 1),
    layerStation(view), otherLayers("after", data.layer + 1, data.layers - 1),
  ];
  const lower = [guessStation(view), nextStation(view), drawStation(view)];
  // The second band is read from right to left, as the loop turns back to the prompt.
  if (size.layout === "two-bands") return [...upper, element("div", { class: "band" }, ...lower)];
  return [...upper, ...lower];
}

// A title opens the page about its station, if there is one.
function station(view, name, { title, about, page, controls = [] }, ...body) {
  const heading = page
    ? element("button", {
        class: "title", "data-focus": name, onclick: () => view.tell("open", page),
      }, title, element("span", { class: "more", "aria-hidden": "true" }, " ›"))
    : element("span", { class: "title" }, title);
  const header = element("div", { class: "header" }, element("h3", {}, heading),
    element("div", { class: "about" }, ...[about].flat()), ...controls);
  return element("section", { class: `station ${name}` }, header, ...body);
}

function block(...columns) {
  const style = `grid-template-columns: repeat(${columns.length}, auto)`;
  return element("div", { class: "block", style }, ...columns);
}

// A head is one or two lines, the first the thing's name.
function column(name, head, cells, foot = "") {
  const [first, second] = [head].flat();
  const lines = second ? [element("b", {}, first), element("span", {}, second)] : [first];
  return element("div", { class: `column ${name}` },
    element("div", { class: "column-head" }, ...lines),
    element("div", { class: "cells" }, ...cells),
    element("div", { class: "foot" }, foot));
}

function cell(row, ...content) {
  return element("div", { class: "cell", "data-row": row }, ...content);
}

function token(label) {
  return element("bdi", { class: "token mono", title: label }, label);
}

// ---- 1 · Tokens --------------------------------------------------------------------------------

function tokenStation(view) {
  const { data } = view;
  const cells = data.labels.map((label, row) => cell(row, chip(view, label, row),
    element("span", { class: "id", title: "token ID" }, `${data.ids[row]}`)));
  const head = element("div", { class: "cell" }, "token", element("span", {}, "ID"));
  const list = column("tokens-list", head, cells, ghost(data));
  const box = list.querySelector(".cells");
  box.setAttribute("role", "listbox");
  box.setAttribute("aria-label", "Tokens of the prompt");
  box.addEventListener("keydown", (event) => stepByKey(view, event));
  return station(view, "tokens",
    { title: "1 · Tokens", about: "the text in pieces", page: "tokens" }, block(list));
}

function chip(view, label, row) {
  const { data } = view;
  const point = (to) => () => { view.pointed = to; mark(view); };
  return element("div", {
    class: "chip", role: "option", "data-focus": `token ${row}`,
    tabindex: row === view.row ? 0 : -1,
    "aria-label": `position ${data.first_position + row}: ${label}, token ID ${data.ids[row]}`,
    onclick: () => choose(view, row),
    onmouseenter: point(row), onmouseleave: point(null), onfocus: point(row), onblur: point(null),
  }, token(label));
}

// The place the drawn token will take.
function ghost(data) {
  if (!data.drawn) return "";
  return element("div", { class: "chip ghost" }, token(data.drawn.label));
}

function choose(view, row) {
  view.row = row;
  view.pointed = null;
  mark(view);
  view.tell("selected", view.data.first_position + row);
}

function stepByKey(view, event) {
  const chips = [...view.figure.querySelectorAll("[role=option]")];
  const at = chips.indexOf(event.target);
  const last = chips.length - 1;
  const to = {
    ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: last,
  }[event.key];
  if (event.key === "Enter" || event.key === " ") choose(view, at);
  else if (to !== undefined) chips[Math.min(last, Math.max(0, to))].focus();
  else return;
  event.preventDefault();
}

// ---- 2 · Embeddings ----------------------------------------------------------------------------

function embeddingStation(view) {
  const { folded, embeddingCells, embeddingCell } = view.size;
  const strips = stripColumn(view, "embedding", embeddingCells, "", embeddingCell);
  return station(view, "embeddings",
    { title: "2 · Embeddings", about: "each ID’s row of numbers", page: "embeddings" },
    folded ? block(labels(view), strips) : block(strips));
}

function labels(view) {
  return column("labels", "", view.data.labels.map((label, row) => cell(row, token(label))));
}

// The first values of every row of an array, and the size at which their colour is full.
function stripColumn(view, name, count, head, width = view.size.cell) {
  const cells = view.data.labels.map((_, row) => cell(row, strip(view, name, row, count, width)));
  return column(`strips ${name}`, head, cells, `±${short(view.data.scales[name])}`);
}

// One canvas pixel a value, drawn large.
function strip(view, name, row, count, width) {
  const { data, shape } = view.data[name];
  const canvas = element("canvas", {
    class: "strip", "aria-hidden": "true",
    width: count, height: 1, style: `width: ${count * width}px`,
  });
  const ink = canvas.getContext("2d");
  for (let i = 0; i < count; i += 1) {
    ink.fillStyle = diverging(view.colours, data[row * shape[1] + i] / view.data.scales[name]);
    ink.fillRect(i, 0, 1, 1);
  }
  return canvas;
}

// ---- 3 · The layer that is opened up -----------------------------------------------------------

function layerStation(view) {
  const { data } = view;
  const steppers = element("div", { class: "steppers" },
    stepper(view, "layer", data.layer, data.layers - 1),
    stepper(view, "head", data.head, data.heads - 1),
    element("span", { class: "reads" }, `reads KV head ${data.kv_head}`));
  const stream = element("div", { class: "stream-name" }, element("i", {}),
    "residual stream: each token’s running sum; the layer reads it and adds (+) to it");
  return station(view, "layer", {
    title: `3 · Layer ${data.layer}, head ${data.head}`, about: "tokens look back at each other",
    page: "attention", controls: [steppers],
  }, ...layerBlocks(view), stream);
}

// Side by side, or, folded, three blocks with the tokens' names repeated.
function layerBlocks(view) {
  const { data, size } = view;
  const ofHead = (name, ...head) => stripColumn(view, name, size.headCells, head);
  const added = (name, ...head) => stripColumn(view, name, size.streamCells, head);
  const query = ofHead("query", "Q", "query");
  const key = ofHead("key", "K", "key");
  const weights = [triangle(view), takes(view)];
  const value = ofHead("value", "V", "value");
  const adding = [
    ofHead("mix", "mix", "of V rows"),
    added("attention_added", `all ${data.heads} heads`, "add"),
    added("feed_forward_added", "feed-forward", "adds"),
  ];
  if (!size.folded) return [block(query, key, ...weights, value, ...adding)];
  return [[query, key, value], weights, adding].map((columns) => block(labels(view), ...columns));
}

function stepper(view, what, value, last) {
  const step = (name, sign, to) => {
    const open = to >= 0 && to <= last;
    // Not "disabled", which would drop the keyboard's place at the end of the range.
    return element("button", {
      class: "step", "aria-label": `${name} ${what}`, "aria-disabled": `${!open}`,
      "data-focus": `${name} ${what}`, onclick: () => open && view.tell(what, to),
    }, sign);
  };
  return element("span", { class: "stepper" }, step("previous", "‹", value - 1),
    element("span", {}, `${what} ${value} of 0–${last}`), step("next", "›", value + 1));
}

// One dot a pair of tokens, its area the weight. What the mask forbids has no dot at all.
function triangle(view) {
  const { data, size } = view;
  const rows = data.labels.length;
  const dots = [];
  for (let row = 0; row < rows; row += 1) {
    for (let key = 0; key < rows; key += 1) {
      const weight = weightOf(data, row, key);
      if (Number.isNaN(weight)) continue;
      dots.push(element("circle", {
        cx: (key + 0.5) * size.dot,
        cy: (row + (size.folded ? 0.5 : STRIP_CENTRE)) * size.pitch,
        r: Math.max(1, Math.sqrt(weight) * size.dot * DOT_RADIUS),
        "data-row": row,
      }));
    }
  }
  const drawing = element("svg", {
    class: "dots", "aria-hidden": "true", width: rows * size.dot, height: rows * size.pitch,
  }, ...dots);
  return column("triangle", ["attention", "who → whom"], [drawing], "area = weight");
}

// How much the followed token takes from each row; filled in when a token is followed.
function takes(view) {
  const cells = view.data.labels.map((_, row) =>
    element("div", { class: "cell", "data-key": row }));
  const earlier = view.data.first_position > 0 ? element("div", { class: "earlier" }) : "";
  return column("takes", "weight", cells, earlier);
}

function writeWeights(view, followed) {
  let shown = 0;
  for (const node of view.figure.querySelectorAll("[data-key]")) {
    const weight = weightOf(view.data, followed, Number(node.dataset.key));
    node.textContent = Number.isNaN(weight) ? "" : percent(weight, 0);
    shown += weight || 0;
  }
  // Weights add up to 1: what is not in these rows is on positions before the window.
  const earlier = view.figure.querySelector(".earlier");
  if (earlier) earlier.textContent = `${percent(Math.max(0, 1 - shown), 0)} earlier`;
}

function weightOf(data, row, key) {
  return data.attention.data[row * data.attention.shape[1] + key];
}

// ---- 4 · The other layers ----------------------------------------------------------------------

function otherLayers(name, first, last) {
  if (last < first) return element("section", { class: `others ${name}` });
  const [word, numbers] = first === last ? ["layer ", first] : ["layers ", `${first}–${last}`];
  return element("section", { class: `others ${name}` },
    element("div", { class: "deck-name" }, word, element("br"), `${numbers}`),
    deck(last - first + 1));
}

function guessStation(view) {
  const { data } = view;
  const guesses = data.lens.map((guess) => element("div", { class: "guess" },
    element("span", { class: "depth" }, `${guess.layer}`), token(guess.label),
    element("span", { class: "number" }, percent(guess.probability, 0))));
  const after = data.layers - 1 - data.layer;
  const about = ["the same step again:", element("br"), `${data.layer} before, ${after} after`];
  return station(view, "guesses", { title: `4 · ${data.layers - 1} more layers`, about },
    element("div", { class: "face" },
      element("div", { class: "face-head" }, "guess after layer"), ...guesses));
}

// Thin edges of cards, one a layer.
function deck(count) {
  const edges = Array.from({ length: count }, () => element("i", {}));
  return element("div", { class: "deck", "aria-hidden": "true" }, ...edges);
}

// ---- 5 · Next-token probabilities, 6 · the draw ------------------------------------------------

function nextStation(view) {
  const { data } = view;
  const most = Math.max(data.rest_probability, ...data.candidates.map((one) => one.probability));
  const rest = element("span", {}, `${data.rest_count.toLocaleString("en")} more tokens`);
  const bars = [
    ...data.candidates.map((one) =>
      bar(token(one.label), one.probability / most, one.probability, `token ID ${one.id}`)),
    bar(rest, data.rest_probability / most, data.rest_probability),
  ];
  bars.at(-1).classList.add("rest");
  // A token that is not among the candidates was drawn from the rest, the last bar, which is -1.
  const at = data.candidates.findIndex((one) => one.id === data.drawn?.id);
  if (data.drawn) bars.at(at).classList.add("drawn");
  const about = ["what may follow ", token(data.labels[data.selected - data.first_position])];
  return station(view, "next", { title: "5 · Next-token probabilities", about, page: "sampling" },
    element("div", { class: "bars" }, ...bars));
}

function bar(name, length, probability, title) {
  return element("div", { class: "bar", title }, name,
    element("span", { class: "track" }, element("i", { style: `width: ${100 * length}%` })),
    element("span", { class: "number" }, percent(probability)));
}

function drawStation(view) {
  const { drawn } = view.data;
  const body = drawn
    ? [element("div", { class: "draw-body" }, drawnChip(drawn), howDrawn(view.data)),
       element("div", { class: "again" }, "it joins the prompt, and everything runs again")]
    : [element("div", { class: "draw-body how" }, "nothing was drawn after this token")];
  return station(view, "draw", { title: "6 · The draw", about: "", page: "sampling" }, ...body);
}

// The likelier the token was, the darker its chip.
function drawnChip(drawn) {
  const style = `--share: ${45 * drawn.probability}%`;
  return element("span", { class: "chip drawn-chip", style }, token(drawn.label));
}

function howDrawn({ drawn, greedy }) {
  return element("span", { class: "how" }, drawn.uniform === null
    ? (greedy ? "the likeliest, no chance involved" : "taken by hand, not drawn")
    : `random number ${drawn.uniform.toFixed(3)}, seed\u00a0${drawn.seed}`);
}

function caption(view) {
  const { data, size } = view;
  const counts = `Strips: first ${size.embeddingCells} of ${data.hidden_size} values, `
    + `in a head ${size.headCells} of ${data.head_size}; below zero `;
  const legend = element("span", { class: "legend", "aria-hidden": "true" });
  return element("div", { class: "caption" },
    element("div", {}, counts, legend, " above, full colour at the ± under each."),
    element("div", {}, ["from the model", ...data.origin, data.window].join(" · ")));
}

// ---- Following one token -----------------------------------------------------------------------

function mark(view) {
  const followed = view.pointed ?? view.row;
  for (const node of view.figure.querySelectorAll("[data-row]")) {
    node.classList.toggle("followed", Number(node.dataset.row) === followed);
  }
  view.figure.querySelectorAll("[role=option]").forEach((node, row) => {
    node.setAttribute("aria-selected", `${row === view.row}`);
    node.tabIndex = row === view.row ? 0 : -1;
  });
  for (const node of view.figure.querySelectorAll(":is(.key, .value) .cell")) {
    const weight = weightOf(view.data, followed, Number(node.dataset.row));
    node.classList.toggle("looked-at", weight >= LOOKED_AT);
  }
  writeWeights(view, followed);
  // The server has not answered yet: guesses and probabilities are another position's.
  const waiting = view.row !== view.data.selected - view.data.first_position;
  view.figure.classList.toggle("waiting", waiting);
  drawFlow(view, followed, waiting);
}

// ---- Flow --------------------------------------------------------------------------------------

function drawFlow(view, followed, waiting) {
  const { flow, figure, size } = view;
  flow.setAttribute("width", figure.clientWidth);
  flow.setAttribute("height", figure.clientHeight);
  const others = [...view.data.labels.keys()].filter((row) => row !== followed);
  const known = followed === view.row && !waiting;
  const acrossStations = size.folded ? [] : [
    ...others.flatMap((row) => streamLines(view, row, "stream")),
    ...streamLines(view, followed, "stream followed"),
    ...attentionLines(view, followed),
    ...branches(view, followed),
    ...(known ? toProbabilities(view, followed) : []),
  ];
  flow.replaceChildren(...acrossStations, ...loopArrow(view));
}

// Where an element came to stand, in the coordinates of the figure.
function placeOf(view, node) {
  const outer = view.figure.getBoundingClientRect();
  const box = node.getBoundingClientRect();
  const left = box.left - outer.left;
  const top = box.top - outer.top;
  return { left, top, right: left + box.width, bottom: top + box.height,
    x: left + box.width / 2, y: top + box.height / 2 };
}

const placeIn = (view, selector) => placeOf(view, view.figure.querySelector(selector));
const stripPlace = (view, name, row) =>
  placeOf(view, view.figure.querySelectorAll(`.${name} .strip`)[row]);

function streamHeight(view, row) {
  return placeIn(view, ".layer .cells").top + (row + STREAM_CENTRE) * view.size.pitch;
}

function curve(from, to) {
  const middle = (from.x + to.x) / 2;
  return `M${from.x},${from.y} C${middle},${from.y} ${middle},${to.y} ${to.x},${to.y}`;
}

function line(d, attributes) {
  return element("path", { d, fill: "none", ...attributes });
}

// The residual stream of one token: from its chip through the embedding and past every layer.
function streamLines(view, row, kind) {
  const chipPlace = placeOf(view, view.figure.querySelectorAll("[role=option]")[row].parentNode);
  const embedding = stripPlace(view, "embedding", row);
  const card = placeIn(view, ".station.layer");
  const others = placeIn(view, ".others.after");
  const end = view.size.layout === "one-band" ? others.right : others.x - view.unit * 0.5;
  const y = streamHeight(view, row);
  const start = curve({ x: embedding.right + 2, y: embedding.y }, { x: card.left, y });
  return [
    line(`M${chipPlace.right + 3},${embedding.y} H${embedding.left - 2}`, { class: kind }),
    line(`${start} H${end}`, { class: kind }),
  ];
}

// From the followed query to the keys it looks at, and from their values into its mix.
function attentionLines(view, row) {
  const query = stripPlace(view, "query", row);
  const mix = stripPlace(view, "mix", row);
  return view.data.labels.flatMap((_, at) => {
    const weight = weightOf(view.data, row, at);
    if (!(weight >= LEAST_WEIGHT)) return []; // Masked, which is NaN, too.
    const key = stripPlace(view, "key", at);
    const value = stripPlace(view, "value", at);
    const width = Math.max(1, weight * view.unit * WHOLE_WEIGHT);
    const style = { class: "attention", "stroke-width": width };
    return [
      line(fan({ x: query.right + 1, y: query.y }, { x: key.left - 1, y: key.y }), style),
      line(fan({ x: mix.left - 1, y: mix.y }, { x: value.right + 1, y: value.y }), style),
    ];
  });
}

// Leaves at a slant and arrives level, so that lines to neighbouring rows stay apart.
function fan(from, to) {
  const [x, y] = [to.x - from.x, to.y - from.y];
  const slant = `${from.x + 0.3 * x},${from.y + 0.45 * y}`;
  return `M${from.x},${from.y} C${slant} ${from.x + 0.5 * x},${to.y} ${to.x},${to.y}`;
}

// What the layer reads from the stream, and where it adds to it.
function branches(view, row) {
  const y = streamHeight(view, row);
  const [query, key, value, mix, attention, feedForward] = ["query", "key", "value", "mix",
    "attention_added", "feed_forward_added"].map((name) => stripPlace(view, name, row));
  const read = (place, kind, dash) =>
    line(`M${place.x},${y} V${place.bottom + 1}`, { class: kind, "stroke-dasharray": dash });
  return [
    read(query, "read query"), read(key, "read key", "4 3"), read(value, "read value", "1.5 3"),
    line(`M${mix.right + 1},${mix.y} H${attention.left - 1}`, { class: "adds" }),
    ...joins(attention, y, view.unit),
    read(feedForward, "adds"),
    ...joins(feedForward, y, view.unit),
  ];
}

// To the side, then down into the stream.
function joins(place, y, unit) {
  const x = place.right + unit * 0.5;
  const d = `M${place.right + 1},${place.y} Q${x},${place.y} ${x},${y}`;
  return [line(d, { class: "adds" }), plus(x, y, unit)];
}

function plus(x, y, unit) {
  const r = unit * 0.36;
  return element("g", { class: "plus" }, element("circle", { cx: x, cy: y, r }),
    line(`M${x - r / 2},${y} h${r} M${x},${y - r / 2} v${r}`, {}));
}

// The followed token's last vector, read at some depths, spreads over the whole vocabulary.
function toProbabilities(view, row) {
  const others = placeIn(view, ".others.after");
  const face = placeIn(view, ".face");
  const bars = placeIn(view, ".bars");
  const y = streamHeight(view, row);
  if (view.size.layout === "one-band") {
    return [line(`M${others.right},${y} H${face.left}`, { class: "stream followed" }),
      spread({ x: face.right, y }, bars, bars.left)];
  }
  const r = view.unit * 0.5;
  const down = `M${others.x - r},${y} Q${others.x},${y} ${others.x},${y + r} V${face.top}`;
  return [line(down, { class: "stream followed" }),
    spread({ x: face.left, y: face.y }, bars, bars.right)];
}

function spread(from, bars, side) {
  const x = (from.x + side) / 2;
  const [above, below] = [from.y - 3, from.y + 3];
  return element("path", { class: "funnel",
    d: `M${from.x},${above} C${x},${above} ${x},${bars.top} ${side},${bars.top} V${bars.bottom} `
      + `C${x},${bars.bottom} ${x},${below} ${from.x},${below} Z` });
}

// From the drawn token back to the end of the prompt.
function loopArrow(view) {
  const drawn = view.figure.querySelector(".drawn-chip");
  if (!drawn) return [];
  const to = placeIn(view, ".ghost");
  const [x, y, turn] = view.size.folded ? [to.left - 4, to.y, 90] : [to.x, to.bottom + 4, 0];
  return [line(loopPath(view, placeOf(view, drawn), to), { class: "again-line" }),
    element("path", { class: "again-head", d: "M-7,10 L0,0 L7,10 Z",
      transform: `translate(${x},${y}) rotate(${turn})` })];
}

// Along the bottom and up; where the draw stands below the prompt, straight up; where everything
// is stacked, up along the margin.
function loopPath(view, from, to) {
  const r = view.unit * 0.75;
  if (view.size.folded) {
    return `M${from.left - 4},${from.y} Q3,${from.y} 3,${from.y - r} `
      + `V${to.y + r} Q3,${to.y} ${to.left - 12},${to.y}`;
  }
  const end = to.bottom + 12;
  if (view.size.layout === "two-bands") {
    const middle = (from.top + end) / 2;
    return `M${from.x},${from.top - 4} C${from.x},${middle} ${to.x},${middle} ${to.x},${end}`;
  }
  return `M${from.left - 4},${from.y} H${to.x + r} `
    + `Q${to.x},${from.y} ${to.x},${from.y - r} V${end}`;
}

// The token just appended flies from the draw to its place in the prompt.
function fly(view) {
  if (calm()) return;
  const chips = view.figure.querySelectorAll("[role=option]");
  const from = placeIn(view, ".draw-body");
  const to = placeOf(view, chips[chips.length - 1]);
  const flyer = element("span", { class: "chip flyer", "aria-hidden": "true" },
    token(view.data.labels[view.data.labels.length - 1]));
  flyer.style.offsetPath = `path("${loopPath(view, from, to)}")`;
  view.figure.append(flyer);
  flyer.animate({ offsetDistance: ["0%", "100%"] }, { duration: FLIGHT_MS, easing: "ease-out" })
    .finished.then(() => flyer.remove());
}

// ---- Colours and numbers -----------------------------------------------------------------------

function coloursOf(stage) {
  const style = getComputedStyle(stage);
  const rgb = (name) =>
    style.getPropertyValue(name).match(/[0-9a-f]{2}/gi).map((pair) => parseInt(pair, 16));
  return { low: rgb("--low"), zero: rgb("--background"), high: rgb("--high") };
}

// Blue, page, orange; full colour at ±1 and beyond.
function diverging(colours, value) {
  const share = Math.min(1, Math.abs(value)) || 0; // Where all is zero, so is the scale.
  const end = value < 0 ? colours.low : colours.high;
  const mixed = colours.zero.map((zero, i) => Math.round(zero + share * (end[i] - zero)));
  return `rgb(${mixed.join(",")})`;
}

function percent(share, digits = 1) {
  const least = 0.5 * 10 ** -(digits + 2);
  if (share > 0 && share < least) return `<${(10 ** -digits).toFixed(digits)}%`;
  return `${(100 * share).toFixed(digits)}%`;
}

function short(value) {
  return value >= 100 ? value.toFixed(0) : Number(value.toPrecision(2)).toString();
}
