// Shared by every component: put in front of its script, so these names are in its scope.

// The element the component draws in, wearing the page's theme.
// Streamlit's theme can be chosen in its menu, so the browser's own preference is not asked.
function stageOf(parentElement) {
  const stage = parentElement.querySelector(".stage");
  const probe = getComputedStyle(stage).getPropertyValue("--st-background-color").trim();
  stage.dataset.theme = luminance(probe || "#ffffff") < 0.4 ? "dark" : "light";
  return stage;
}

function luminance(colour) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const ink = canvas.getContext("2d");
  ink.fillStyle = colour;
  ink.fillRect(0, 0, 1, 1);
  const [r, g, b] = ink.getImageData(0, 0, 1, 1).data;
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
}

// {f32, shape} from Python -> {data: Float32Array, shape}.
function unpacked(packed) {
  const raw = atob(packed.f32);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
  return { data: new Float32Array(bytes.buffer), shape: packed.shape };
}

// An element with attributes and children; a child that is a string becomes a text node,
// so nothing a visitor typed is ever read as markup.
function element(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "rect", "circle", "line", "text", "tspan", "title", "defs",
    "pattern", "clipPath", "linearGradient", "stop"].includes(tag);
  const node = svg
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
