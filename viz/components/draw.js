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
const GREEDY = "greedy: temperature 0 takes the likeliest token, no draw";
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
  const view = { stage, settings: {}, held: 0, reading: null, drops: [], durations: [] };
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
    view.parts.instruction.textContent = `All ${tokens(view.labels.length)} lie end to end, each as `
      + "wide as its probability. Move the temperature: the strip stretches, the pin stays.";
    view.parts.segments.replaceChildren();
    view.reading = null;
  }
  measure(view);
  view.key = data.key;
  view.defaults = data.defaults;
  view.uniforms = new Map(data.seeds.map((seed, i) => [seed, data.uniforms[i]]));
  if (data.revision !== view.revision || !view.uniforms.has(view.settings.seed)) {
    view.settings = startOf(view, data);
    view.held = 0;
    view.revision = data.revision;
  }
  setRanges(view, data.limits);
  move(view);
}

// Python's settings, unless the hand has moved on since Python last changed them.
function startOf(view, data) {
  const last = lastPosition.get(data.key);
  const isLater = last?.revision === data.revision && view.uniforms.has(last.settings.seed);
  return { ...(isLater ? last.settings : data.settings) };
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

const label = (view, rank) => view.labels[view.sorted.ids[rank]] || "∅";
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
  parts.instruction = element("p", { class: "instruction" });
  parts.again = element("button", { type: "button", onclick: () => dropAgain(view) }, "Drop again");
  parts.hundred = element("button", { type: "button", "aria-pressed": "false",
    onclick: () => toggleDrops(view) }, `Drop ${DROPS}`);
  const reset = element("button", { type: "button", onclick: () => resetSettings(view) },
    "Reset sliders");
  parts.blocks = [
    element("h3", {}, "The next token is where the pin lands"),
    parts.instruction,
    parts.board,
    element("div", { class: "buttons" }, parts.again, parts.hundred, reset),
    element("div", { class: "controls" }, ...parts.controls.map((control) => control.block)),
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
  const [pool, cut] = ["pool", "cut"].map((kind) =>
    element("div", { class: kind }, element("span", {})));
  const frame = element("div", { class: "frame", hidden: true });
  const strip = element("div", {
    class: "strip", tabindex: 0, role: "slider", "aria-valuemin": 1, "aria-valuenow": 1,
    "aria-label": "The tokens, likeliest first. Left and Right read them.",
    onkeydown: (event) => readByKey(view, event),
    onpointermove: (event) => read(view, rankUnder(view, event)),
    onpointerdown: (event) => read(view, rankUnder(view, event)),
    onpointerleave: () => read(view, null),
    onfocus: () => read(view, view.reading ?? 0),
    onblur: () => read(view, null),
  }, pool, cut, segments, frame);
  const pin = element("div", { class: "pin" });
  const span = element("div", { class: "span" });
  const flag = { before: element("span", {}), drawn: element("span", {}), token: element("bdi", {}),
    chance: element("span", {}), after: element("span", {}) };
  flag.text = element("span", { class: "flag" }, flag.drawn, flag.token, flag.chance);
  const rug = element("div", { class: "rug", hidden: true });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((u) =>
    element("span", { style: `left: ${u * 100}%` }, String(u)));
  const caption = element("p", { class: "caption" });
  const pooled = element("p", { class: "pooled muted" });
  const board = element("div", { class: "board", role: "figure" },
    element("div", { class: "flags" }, flag.before, flag.text, flag.after),
    element("div", { class: "field" }, strip, element("div", { class: "spans" }, span), rug, pin),
    element("div", { class: "ticks small muted", "aria-hidden": "true" }, ...ticks),
    element("div", { class: "captions" }, caption, pooled));
  return { board, strip, segments, pool, cut, frame, pin, span, flag, rug, caption, pooled };
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
    "Probability after the cuts", "Cumulative"];
  const rows = Array.from({ length: TABLE_ROWS }, () =>
    element("tr", {}, ...heads.map((_, i) => element("td", {}, i === 1 ? element("bdi", {}) : ""))));
  const table = element("table", {},
    element("thead", {}, element("tr", {},
      ...heads.map((head) => element("th", { scope: "col" }, head)))),
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
    explain: (value) => {
      if (value === 0) return "greedy: always the likeliest token";
      if (value === 1) return "the model's own probabilities";
      return value < 1 ? "likely tokens gain" : "unlikely tokens gain";
    },
  },
  {
    name: "top_k",
    title: "Top-k",
    shown: (value) => (value === 0 ? "off" : count(value)),
    explain: (value) => {
      if (value === 0) return "all tokens stay";
      return value === 1 ? "only the likeliest stays" : `only the ${count(value)} likeliest stay`;
    },
  },
  {
    name: "top_p",
    title: "Top-p",
    shown: (value) => (value === 1 ? "off" : value.toFixed(2)),
    explain: (value) => (value === 1
      ? "all tokens stay" : `the likeliest, until they hold ${Math.round(value * 100)}%`),
  },
  {
    name: "min_p",
    title: "Min-p",
    shown: (value) => (value === 0 ? "off" : value.toFixed(2)),
    explain: (value) => (value === 0
      ? "all tokens stay" : `at least ${Math.round(value * 100)}% as likely as the first`),
  },
];

const shownSetting = (name, value) => CONTROLS.find((one) => one.name === name).shown(value);

function buildControl(view, control) {
  const output = element("span", { class: "mono" });
  const hint = element("span", { class: "hint small muted" });
  const slider = element("input", { type: "range", "aria-label": control.title,
    oninput: () => change(view, control.name, fromSlider(view, control.name, slider)) });
  const block = element("label", { class: "control" },
    element("span", { class: "reading" }, control.title, output), slider, hint);
  return { ...control, block, slider, output, hint };
}

// The top-k slider walks over steps, the last of which is 0, off: further right keeps more.
function setRanges(view, limits) {
  const size = view.labels.length;
  const steps = new Set([...TOP_K_STEPS, view.settings.top_k].filter((k) => k > 0 && k <= size));
  view.topKSteps = [...[...steps].sort((a, b) => a - b), 0];
  const ranges = { ...limits, top_k: [0, view.topKSteps.length - 1, 1] };
  for (const { name, slider } of view.parts.controls) {
    [slider.min, slider.max, slider.step] = ranges[name];
  }
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
    control.output.textContent = control.shown(value);
    control.hint.textContent = control.explain(value);
    control.slider.setAttribute("aria-valuetext",
      `${control.output.textContent}, ${control.hint.textContent}`);
  }
}

// ---- a move ------------------------------------------------------------------------------------

// One input of a slider. A cut first shows what it takes away: the strip keeps its old length,
// `held` tokens, for a moment.
function change(view, name, value) {
  const before = Math.max(view.held, view.stages.kept);
  view.settings[name] = value;
  clearTimeout(view.hold);
  view.parts.board.classList.remove("closing");
  view.held = 0;
  if (name !== "temperature") {
    view.held = before;
    view.hold = setTimeout(() => closeUp(view), HOLD);
  }
  move(view);
  tellPython(view);
}

function closeUp(view) {
  const { board } = view.parts;
  view.held = 0;
  board.classList.toggle("closing", !calm());
  draw(view);
  setTimeout(() => board.classList.remove("closing"), CLOSE);
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

// The pins of a hundred seeds, this one's first or else the last known; pressed again, they go.
function toggleDrops(view) {
  const known = [...view.uniforms].map(([seed, u]) => ({ seed, u }));
  const here = known.findIndex(({ seed }) => seed === view.settings.seed);
  const from = Math.min(here, known.length - DROPS);
  view.drops = view.drops.length ? [] : known.slice(from, from + DROPS);
  view.parts.rug.replaceChildren(...view.drops.map(({ u }) =>
    element("i", { style: `left: ${u * 100}%` })));
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
  view.pinAt = isGreedy(view) ? null : view.width * view.uniforms.get(view.settings.seed);
  view.edge = (rank) => (rank < 0 ? 0 : (view.width * running[rank]) / length);
  let rank = 0;
  while (rank < view.shown && view.edge(rank) - view.edge(rank - 1) >= SMALLEST) {
    drawSegment(view, rank);
    rank += 1;
  }
  const segments = view.parts.segments.children;
  for (let unused = rank; unused < segments.length; unused += 1) segments[unused].hidden = true;
  const more = drawBlock(view, view.parts.pool, rank, Math.max(rank, kept),
    (number) => tokens(number, "more "));
  view.parts.pooled.textContent = more && `Hatched: ${more}`;
  drawBlock(view, view.parts.cut, kept, view.shown, (number) => `${tokens(number)} cut`);
}

function drawSegment(view, rank) {
  const segment = view.parts.segments.children[rank] ?? addSegment(view, rank);
  const [name, chance] = segment.children;
  segment.hidden = false;
  segment.className = rank < view.stages.kept ? "segment" : "segment gone";
  const room = placeBlock(view, segment, rank, rank + 1);
  name.hidden = room < view.unit || room < nameWidth(view, rank) + view.unit / 2;
  chance.hidden = name.hidden || view.held > 0 || room < 4 * view.unit;
  if (!chance.hidden) chance.textContent = percent(probability(view, rank));
}

function addSegment(view, rank) {
  const segment = element("div", {}, element("bdi", {}, label(view, rank)), element("span", {}));
  view.parts.segments.append(segment);
  return segment;
}

// One block for the tokens from rank `from` up to `to`. Returns what it says if it is too narrow
// to say it itself.
function drawBlock(view, block, from, to, words) {
  block.hidden = from >= to;
  if (block.hidden) return "";
  const { running } = view.stages;
  const share = (running[to - 1] - (from ? running[from - 1] : 0)) / running[view.shown - 1];
  const text = `${words(to - from)}, ${percent(share)}`;
  const fits = view.ruler.measureText(text).width + view.unit < placeBlock(view, block, from, to);
  block.firstChild.textContent = fits ? text : "";
  return fits ? "" : text;
}

// Returns the room for a name in the block of the ranks from `from` up to `to`: all of it, or the
// wider side of the pin that stands in it.
function placeBlock(view, block, from, to) {
  const left = view.edge(from - 1);
  const right = view.edge(to - 1);
  const isPinned = view.pinAt !== null && view.pinAt > left && view.pinAt < right;
  const before = isPinned ? view.pinAt - left : 0;
  const after = isPinned ? right - view.pinAt : 0;
  place(block, left, right - left);
  block.style.paddingLeft = before > after ? 0 : `${before}px`;
  block.style.paddingRight = before > after ? `${after}px` : 0;
  return isPinned ? Math.max(before, after) : right - left;
}

function place(node, left, width) {
  node.style.left = `${left}px`;
  node.style.width = `${width}px`;
}

function nameWidth(view, rank) {
  return (view.nameWidths[rank] ??= view.ruler.measureText(label(view, rank)).width);
}

function drawPin(view) {
  const { pin, span, rug, again, hundred } = view.parts;
  const greedy = isGreedy(view);
  pin.hidden = again.disabled = hundred.disabled = greedy;
  pin.style.left = `${view.uniforms.get(view.settings.seed) * 100}%`;
  rug.hidden = greedy || view.drops.length === 0;
  span.hidden = greedy || view.held > 0;
  place(span, view.edge(view.hit - 1), view.edge(view.hit) - view.edge(view.hit - 1));
  drawFlag(view, greedy);
}

// The pin's label. While cut tokens still stand on the strip, the pin points at no token yet.
function drawFlag(view, greedy) {
  const { flag } = view.parts;
  const names = !greedy && !view.held;
  flag.drawn.textContent = greedy ? GREEDY : `${pinText(view)}${names ? " → " : ""}`;
  flag.token.textContent = names ? label(view, view.hit) : "";
  flag.chance.textContent = names ? ` ${percent(probability(view, view.hit))}` : "";
  placeFlag(flag, greedy ? 0 : view.uniforms.get(view.settings.seed));
  flag.text.classList.toggle("greedy", greedy);
}

// It stands right of u, past .7 left of it. What stands between it and the strip's end can shrink,
// so the label gives way instead of running over.
function placeFlag(flag, u) {
  const isLeft = u > 0.7;
  flag.before.style.flex = isLeft ? "1 1 0" : `0 1 ${u * 100}%`;
  flag.after.style.flex = isLeft ? `0 1 ${(1 - u) * 100}%` : "1 1 0";
  flag.text.classList.toggle("left", isLeft);
}

// u is cut off, not rounded, so that .9998 is not shown as 1.
function pinText(view) {
  const { seed } = view.settings;
  return `u = ${(Math.floor(view.uniforms.get(seed) * 1000) / 1000).toFixed(3)} (seed ${seed})`;
}

function takeaway(view) {
  const likeliest = `${label(view, 0)} has ${percent(probability(view, 0))} of the strip`;
  if (isGreedy(view)) return `${GREEDY}: ${label(view, 0)}.`;
  return `At temperature ${view.settings.temperature.toFixed(2)}, ${likeliest}. The pin, `
    + `${pinText(view)}, hits ${label(view, view.hit)}, ${percent(probability(view, view.hit))}.`;
}

// 49,152 tokens at temperature 1.00 → top-k 50: 50 left, 93.1% of the probability → …
function drawStages(view) {
  const setting = ({ name }) => shownSetting(name, view.settings[name]);
  const [first, ...rest] = view.stages.stages;
  const cuts = rest.filter((stage) => setting(stage) !== "off");
  const items = rest.map((stage) => stageItem(stage, setting(stage), stage === cuts[0]));
  const start = `${tokens(view.labels.length)} at temperature ${setting(first)}`;
  items.unshift(element("li", {}, isGreedy(view) ? `${start}: 1 left, no draw` : start));
  if (cuts.length) items.push(element("li", {}, "what is left is renormalised to 100%"));
  view.parts.stages.replaceChildren(...items);
}

function stageItem({ name, left, share }, setting, isFirstCut) {
  const title = name.replace("_", "-");
  if (setting === "off") return element("li", { class: "muted" }, `${title} off`);
  return element("li", {}, `${title} ${setting}: ${count(left)} left, `
    + `${percent(share)} of ${isFirstCut ? "the probability" : "that"}`);
}

// ---- reading one token -------------------------------------------------------------------------

function rankUnder(view, event) {
  const x = event.clientX - view.parts.strip.getBoundingClientRect().left;
  return firstRank(view.stages.running, view.shown, (share) => share > x / view.width);
}

function readByKey(view, event) {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageUp: 10, PageDown: -10,
    Home: -Infinity, End: Infinity }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  read(view, Math.max(0, (view.reading ?? 0) + step));
}

function read(view, rank) {
  view.reading = rank;
  drawReading(view);
}

function drawReading(view) {
  const { strip, frame, caption } = view.parts;
  frame.hidden = view.reading === null;
  strip.setAttribute("aria-valuemax", view.shown);
  if (view.reading === null) {
    caption.replaceChildren(element("span", { class: "muted" },
      "Touch the strip, or press ← → on it, to read a token."));
    return;
  }
  const rank = (view.reading = Math.min(view.reading, view.shown - 1));
  const span = rank < view.stages.kept
    ? `${percent(probability(view, rank))}, from ${cumulative(view, rank - 1).toFixed(4)} `
      + `to ${cumulative(view, rank).toFixed(4)}`
    : "cut";
  place(frame, view.edge(rank - 1), Math.max(SMALLEST, view.edge(rank) - view.edge(rank - 1)));
  caption.replaceChildren(`Rank ${count(rank + 1)}: `,
    element("bdi", { class: "mono" }, label(view, rank)), ` ${span}`);
  strip.setAttribute("aria-valuenow", rank + 1);
  strip.setAttribute("aria-valuetext", `rank ${rank + 1}, ${label(view, rank)}, ${span}`);
}

// ---- a hundred pins, and the table -------------------------------------------------------------

function drawCounts(view) {
  const { drops } = view;
  const { counts, countTitle, countRows, hundred } = view.parts;
  hundred.textContent = drops.length ? `Lift the ${DROPS}` : `Drop ${DROPS}`;
  hundred.setAttribute("aria-pressed", String(drops.length > 0));
  counts.hidden = view.parts.rug.hidden;
  if (counts.hidden) return;
  countTitle.textContent = `${DROPS} pins, seeds ${drops[0].seed} to ${drops.at(-1).seed}: `
    + "bar = hits, line = probability";
  const hits = new Array(COUNT_ROWS + 1).fill(0);
  for (const { u } of drops) hits[Math.min(COUNT_ROWS, drawAt(view.stages, u))] += 1;
  countRows.forEach((row, rank) => drawCount(view, row, rank, hits[rank]));
}

// One of the first tokens, or, in the last row, all others together.
function drawCount(view, row, rank, hits) {
  const others = rank === COUNT_ROWS;
  const part = others ? 1 - cumulative(view, rank - 1) : probability(view, rank);
  row.line.hidden = rank >= view.stages.kept;
  if (row.line.hidden) return;
  row.token.textContent = others ? "all others" : label(view, rank);
  row.bar.style.width = `${(hits / DROPS) * 100}%`;
  row.mark.style.left = `${part * 100}%`;
  row.count.textContent = `${hits} hits, probability ${percent(part)}`;
}

function drawTable(view) {
  const { details, tableRows, entropy } = view.parts;
  if (!details.open) return;
  tableRows.forEach((row, rank) => {
    row.hidden = rank >= view.labels.length;
    if (!row.hidden) drawRow(view, row, rank);
  });
  entropy.textContent = `Entropy of what is left: ${view.stages.entropy.toFixed(2)} bits, as `
    + `undecided as ${(2 ** view.stages.entropy).toFixed(1)} equally likely tokens.`;
}

function drawRow(view, row, rank) {
  const { weights, running, kept } = view.stages;
  const isKept = rank < kept;
  const cells = [count(rank + 1), label(view, rank), view.sorted.ids[rank],
    view.sorted.logits[rank].toFixed(3), percent(weights[rank] / running.at(-1)),
    isKept ? "yes" : "cut", isKept ? percent(probability(view, rank)) : "–",
    isKept ? cumulative(view, rank).toFixed(4) : "–"];
  cells.forEach((text, i) => {
    const cell = row.children[i];
    (cell.firstElementChild ?? cell).textContent = text;
  });
}

// ---- numbers in words --------------------------------------------------------------------------

const thousands = new Intl.NumberFormat("en-US");
const count = (number) => thousands.format(number);
const tokens = (number, which = "") =>
  `${count(number)} ${which}${number === 1 ? "token" : "tokens"}`;

// Three digits that tell: 77.3%, 1.25%, 0.0031%. Only a whole is called 100%.
function percent(probability) {
  if (probability === 0 || probability === 1) return `${probability * 100}%`;
  if (probability > 0.9995) return ">99.9%";
  if (probability < 1e-6) return "<0.0001%";
  const digits = probability >= 0.1 ? 1 : probability >= 0.001 ? 2 : 4;
  return `${(probability * 100).toFixed(digits)}%`;
}
