// The token strip: the learner's own tokens, one of them selected, the same on every page.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const stage = stageOf(parentElement);
  // Drawn anew only when it shows something else, so that a chip keeps the keyboard's focus.
  const shown = JSON.stringify(data);
  if (stage.shown === shown) return;
  stage.shown = shown;
  const list = element("div", {
    class: "strip", role: "listbox", "aria-label": data.label, "aria-orientation": "horizontal",
  });
  const chips = data.tokens.map((token, place) => chip(token, place));
  list.append(...chips);
  stage.replaceChildren(list);
  let selected = data.selected;
  mark();

  function chip(token, place) {
    return element("button", {
      class: `chip ${token.kind}`, role: "option", type: "button", title: token.title,
      "data-group": token.group, "data-place": token.position,
      onclick: () => select(place), onkeydown: (event) => step(event, place),
    }, element("bdi", { class: "mono text" }, token.label),
    element("span", { class: "id small muted" }, String(token.id)));
  }

  function select(place) {
    selected = place;
    mark();
    // A trigger, not a state: choosing the same token again after Python moved on is news too.
    setTriggerValue("selected", data.tokens[place].position);
  }

  function step(event, place) {
    const last = chips.length - 1;
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = Math.min(Math.max(to, 0), last);
    chips[next].focus();
    select(next);
  }

  // One tab stop: only the selected chip is reached with Tab, the others with the arrows.
  function mark() {
    chips.forEach((button, place) => {
      button.setAttribute("aria-selected", String(place === selected));
      button.tabIndex = place === selected || (selected < 0 && place === 0) ? 0 : -1;
    });
  }
}
