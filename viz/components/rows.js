// A text with its tokens marked in place. Python sends it from viz/tokens.py, cut into stretches:
// most are one token; one that several tokens share is written once, their bytes under it.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const stage = stageOf(parentElement);
  stage.tell = (position) => setTriggerValue("selected", position);
  // Another selection redraws nothing, so that the keyboard's focus and the scroll stay.
  const content = JSON.stringify([data.rows, data.large]);
  if (stage.content !== content) {
    stage.content = content;
    stage.classList.toggle("large", data.large);
    const rows = data.rows.map((row) => drawRow(row, data));
    stage.replaceChildren(...rows.map((row) => row.block));
    stage.select = data.large ? selection(rows[0], (position) => stage.tell(position)) : () => {};
  }
  stage.select(data.selected);
}

// ---- drawing ---------------------------------------------------------------------------------------

function drawRow(row, data) {
  const tokens = [];
  const text = element("p", { class: "text", dir: "auto", ...role(data, row) });
  row.stretches.forEach((stretch) => text.append(...drawStretch(stretch, tokens, data.large)));
  const block = element("section", { class: "row" });
  if (!data.large) block.append(heading(row), text);
  const ids = data.large ? idLine(row) : [];
  if (data.large) {
    block.append(text, element("p", { class: "caption muted" }, data.of_text),
      element("p", { class: "arrow", "aria-hidden": "true" }, "↓"),
      element("p", { class: "ids mono" }, ...spaced(ids)),
      element("p", { class: "caption muted" }, data.of_ids));
  }
  return { block, text, tokens, ids };
}

function role(data, row) {
  return data.large
    ? { role: "listbox", "aria-label": `${row.alt}; arrow keys move the selection`, "aria-orientation": "horizontal" }
    : { "aria-label": row.alt, role: "group", tabindex: 0 };
}

function heading(row) {
  const bar = row.most ? element("span", { class: "length", "aria-hidden": "true" },
    element("span", { class: "bar", style: `width: ${(100 * row.count) / row.most}%` })) : "";
  return element("div", { class: "heading" },
    element("bdi", { class: "title" }, row.title),
    element("span", { class: "count" }, row.count === 1 ? "1 token" : `${row.count.toLocaleString("en")} tokens`),
    bar,
    row.note ? element("span", { class: "small muted" }, row.note) : "");
}

// A stretch as nodes. A whole token stays an inline box without padding, so that letters which
// join their neighbours (Arabic) keep joining across its edge. For the same reason a line may not
// break in front of a token that goes on with a word, unless nothing else helps.
function drawStretch(stretch, tokens, clickable) {
  const parts = stretch.parts.flatMap(([kind, shown]) => drawPart(kind, shown));
  const lost = stretch.lost.length > 0;
  if (stretch.groups.length === 0) return [lost ? lostBox(stretch.lost) : element("span", {}, ...parts)];
  const breaks = stretch.parts.some(([kind]) => kind === "newline") ? [element("br")] : [];
  const goesOn = stretch.joined || stretch.groups[0][0].kind === "continues";
  const before = stretch.parts[0]?.[0] || !goesOn ? [element("wbr")] : [];
  if (!stretch.split && !lost) {
    const mark = stretch.groups[0][0];
    const shown = mark.kind === "control" || parts.length === 0 ? [element("bdi", {}, mark.label)] : parts;
    const shape = stretch.joined ? "whole joined" : "whole";
    return [...before, drawToken(mark, tokens, clickable, shape, shown), ...breaks];
  }
  const pieces = stretch.groups.map((group) => element("span", { class: "group" },
    ...group.map((mark) => drawToken(mark, tokens, clickable, "piece", [element("bdi", {}, mark.bytes)]))));
  const box = element("span", { class: "split" },
    element("span", { class: "sign-whole" }, ...parts),
    element("span", { class: "pieces mono" }, ...pieces, ...(lost ? [lostBox(stretch.lost)] : [])));
  return [...before, box, ...breaks];
}

function drawPart(kind, shown) {
  return kind === "" ? [shown] : [element("span", { class: "sign" }, shown)];
}

function drawToken(mark, tokens, clickable, shape, shown) {
  const node = element("span", {
    class: `token ${shape} ${mark.kind} ${tokens.length % 2 ? "odd" : "even"}`, title: mark.title,
    "data-position": mark.position, role: clickable ? "option" : null,
    "aria-label": clickable ? `${mark.label}, ${mark.title}` : null,
  }, ...shown);
  tokens.push(node);
  return node;
}

function lostBox(names) {
  return element("span", { class: "lost mono", title: "no token stands for this: the model never sees it" },
    `${names.join(" ")} lost`);
}

function idLine(row) {
  return row.ids.map((id, place) =>
    element("span", { class: `id ${place % 2 ? "odd" : "even"}`, "data-place": place }, String(id)));
}

const spaced = (nodes) => nodes.flatMap((node) => [node, " "]);

// ---- the selection -------------------------------------------------------------------------------

// Lets the tokens of a row, and their IDs, be selected; returns what marks a position from outside.
function selection(row, tell) {
  const positions = row.tokens.map((node) => Number(node.dataset.position));
  let place = -1;
  const mark = (to) => {
    place = to;
    row.tokens.forEach((node, i) => {
      node.setAttribute("aria-selected", String(i === place));
      node.tabIndex = i === Math.max(place, 0) ? 0 : -1;
    });
    row.ids.forEach((node, i) => node.classList.toggle("selected", i === place));
  };
  const select = (to) => {
    mark(Math.min(Math.max(to, 0), positions.length - 1));
    row.tokens[place].focus();
    tell(positions[place]);
  };
  const step = (event, i) => {
    const last = positions.length - 1;
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: last, Enter: i, " ": i }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    select(to);
  };
  row.tokens.forEach((node, i) => {
    node.addEventListener("click", () => select(i));
    node.addEventListener("keydown", (event) => step(event, i));
  });
  row.ids.forEach((node, i) => node.addEventListener("click", () => select(i)));
  return (position) => mark(positions.indexOf(position));
}
