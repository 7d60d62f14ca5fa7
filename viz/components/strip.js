// The token strip: the learner's own tokens, one of them selected, the same on every page.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const stage = stageOf(parentElement);
  // The chips are made anew only for other tokens, so that one keeps the keyboard's focus.
  const shown = JSON.stringify(data.tokens);
  if (stage.shown !== shown) {
    stage.shown = shown;
    stage.replaceChildren(strip(data, (position) => setTriggerValue("selected", position)));
  }
  mark(stage.querySelector(".strip"), data.selected);
}

function strip(data, tell) {
  const list = element("div", {
    class: "strip", role: "listbox", "aria-label": data.label, "aria-orientation": "horizontal",
  });
  const choose = (place) => {
    mark(list, place);
    tell(data.tokens[place].position);
  };
  list.append(...data.tokens.map((token, place) => chip(token, {
    onclick: () => choose(place),
    onkeydown: (event) => step(event, list, place, choose),
  })));
  return list;
}

function chip(token, listeners) {
  return element("button", {
    class: `chip ${token.kind}`, role: "option", type: "button", title: token.title,
    "data-group": token.group, "data-place": token.position, ...listeners,
  }, element("bdi", { class: "mono text" }, token.label),
  element("span", { class: "id small muted" }, String(token.id)));
}

function step(event, list, place, choose) {
  const last = list.children.length - 1;
  const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const next = Math.min(Math.max(to, 0), last);
  list.children[next].focus();
  choose(next);
}

// One tab stop: only the selected chip is reached with Tab, the others with the arrows.
function mark(list, selected) {
  [...list.children].forEach((chip, place) => {
    chip.setAttribute("aria-selected", String(place === selected));
    chip.tabIndex = place === selected || (selected < 0 && place === 0) ? 0 : -1;
  });
}
