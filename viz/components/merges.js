// The merges of one word, row by row: every row is the word after one more merge. Python sends the
// word from viz/merges.py; playing, stepping and going back need no trip to the server.

const PACE = 900; // ms a step while playing

export default function (component) {
  const { data, parentElement } = component;
  const stage = stageOf(parentElement);
  clearInterval(stage.playing);
  const rows = played(data);
  const view = { stage, data, rows, last: rows.length - 1, step: rows.length - 1 };
  view.parts = build(view);
  stage.replaceChildren(...view.parts.blocks);
  show(view, view.last, false);
  return () => clearInterval(stage.playing);
}

// The pieces after 0, 1, 2, … merges. A piece knows the columns it spans, so that a merged piece
// stands exactly under the two that it was made of.
function played(data) {
  let pieces = data.start.map((label, column) => ({ label, from: column, to: column + 1, fresh: false }));
  const rows = [pieces];
  data.joins.forEach((join) => {
    const [left, right] = [pieces[join.at], pieces[join.at + 1]];
    const made = { label: join.label, from: left.from, to: right.to, fresh: true };
    pieces = pieces.map((piece) => ({ ...piece, fresh: false }));
    pieces.splice(join.at, 2, made);
    rows.push(pieces);
  });
  return rows;
}

// ---- drawing ---------------------------------------------------------------------------------------

function build(view) {
  const parts = { lines: view.rows.map((_, step) => drawLine(view, step)) };
  parts.slider = element("input", {
    type: "range", min: 0, max: view.last, step: 1, "aria-label": "Merge that is shown last",
    oninput: (event) => { pause(view); show(view, Number(event.target.value), true); },
  });
  parts.count = element("span", { class: "count" });
  parts.live = element("span", { class: "unseen", "aria-live": "polite" });
  parts.back = button("◀", "One merge back", () => { pause(view); show(view, view.step - 1, true); });
  parts.play = button("", "Play", () => (view.stage.playing ? pause(view) : play(view)));
  parts.on = button("▶", "One merge on", () => { pause(view); show(view, view.step + 1, true); });
  parts.play.classList.add("play");
  const controls = element("div", { class: "controls" },
    parts.back, parts.play, parts.on, parts.slider, parts.count, parts.live);
  const columns = `repeat(${view.data.start.length}, var(--column))`;
  const picture = element("div", {
    class: "picture", role: "img", "aria-label": view.data.alt, style: `--columns: ${columns}`,
  }, ...parts.lines);
  parts.window = element("div", { class: "window", tabindex: 0, role: "group",
    "aria-label": "The word after each merge" }, picture);
  parts.blocks = view.last > 0 ? [controls, parts.window] : [parts.window];
  return parts;
}

function button(sign, label, onclick) {
  return element("button", { type: "button", "aria-label": label, title: label, onclick }, sign);
}

function drawLine(view, step) {
  const next = view.data.joins[step];
  const chips = view.rows[step].map((piece, place) => {
    const about = next && (place === next.at || place === next.at + 1);
    const side = about ? (place === next.at ? "left" : "right") : "";
    return drawChip(view, piece, place, step === view.last, side);
  });
  const text = step === 0 ? "the smallest pieces" : view.data.joins[step - 1].when;
  return element("div", { class: step === view.last ? "line final" : "line" },
    element("span", { class: "number muted" }, String(step)),
    element("div", { class: "chips" }, ...chips),
    element("span", { class: "when muted" }, text));
}

function drawChip(view, piece, place, final, side) {
  const attributes = {
    class: `piece ${piece.fresh ? "fresh" : ""} ${side}`,
    style: `grid-column: ${piece.from + 1} / ${piece.to + 1}`,
  };
  const id = final ? [element("span", { class: "id small" }, String(view.data.ids[place]))] : [];
  return element("span", attributes, element("bdi", { class: "mono" }, piece.label), ...id);
}

// ---- stepping ---------------------------------------------------------------------------------------

function show(view, step, spoken) {
  view.step = Math.min(Math.max(step, 0), view.last);
  const { lines, slider, count, live, back, on } = view.parts;
  lines.forEach((line, i) => {
    line.classList.toggle("later", i > view.step);
    line.classList.toggle("now", i === view.step);
  });
  slider.value = view.step;
  count.textContent = `merge ${view.step} of ${view.last}`;
  back.disabled = view.step === 0;
  on.disabled = view.step === view.last;
  if (spoken) live.textContent = sentence(view);
  if (spoken) keepInSight(view);
  if (view.step === view.last) pause(view);
  else label(view, Boolean(view.stage.playing));
}

function sentence(view) {
  const join = view.data.joins[view.step - 1];
  return join ? `Merge ${view.step} makes ${join.label}, ${join.when}.` : "The smallest pieces.";
}

function keepInSight(view) {
  const { window } = view.parts;
  const line = view.parts.lines[view.step];
  const over = line.offsetTop + line.offsetHeight - window.clientHeight;
  if (line.offsetTop < window.scrollTop || over > window.scrollTop) window.scrollTop = Math.max(over, 0);
  const fresh = line.querySelector(".fresh");
  if (fresh && window.scrollWidth > window.clientWidth) window.scrollLeft = fresh.offsetLeft - window.clientWidth / 3;
}

function play(view) {
  show(view, view.step === view.last ? 0 : view.step, true);
  view.stage.playing = setInterval(() => show(view, view.step + 1, true), PACE);
  label(view, true);
}

function pause(view) {
  clearInterval(view.stage.playing);
  view.stage.playing = undefined;
  label(view, false);
}

function label(view, playing) {
  const name = playing ? "Pause" : view.step === view.last ? "Play from the start" : "Play";
  view.parts.play.textContent = playing ? "❚❚ Pause" : view.step === view.last ? "↻ Play" : "▶ Play";
  view.parts.play.setAttribute("aria-label", name);
  view.parts.play.title = name;
}
