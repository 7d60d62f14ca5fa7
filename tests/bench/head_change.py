"""Another head on the attention page: from the key pressed to the map redrawn, and the server's part."""

from collections.abc import Iterator

from playwright.sync_api import Page
from streamlit.testing.v1 import AppTest

from tests.bench import report
from tests.bench.app import ROOT, new_page, settled
from tests.bench.bench import Bench
from tests.bench.measure import Spread, repeated
from tests.bench.report import Row

GOAL, SERVER_GOAL = 0.25, 0.15
CHANGES = 24
PATH = "/attention?layer=5&head=4"

# Notes when the page last sent a message to the server, and when the last one came back.
LISTEN = """window.line = {};
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", () => { window.line.received = performance.now(); });
  }
  send(message) {
    window.line.sent = performance.now();
    super.send(message);
  }
};"""

# Presses an arrow key on the grid of heads, and waits until the title names the new head and the
# map's pixels are others. A frame later both are on the screen.
PRESS = """async (grid, [key, title]) => {
  const frame = () => new Promise(requestAnimationFrame);
  const pixels = () => document.querySelector(".st-key-attention_map image")?.getAttribute("xlink:href");
  const titles = () => [...document.querySelectorAll(".figure-title")].map((node) => node.textContent);
  const before = pixels();
  const start = performance.now();
  grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true }));
  const isDrawn = () => titles().some((text) => text.startsWith(title)) && pixels() && pixels() !== before;
  while (!isDrawn()) {
    if (performance.now() - start > 30000) throw new Error(`the map of "${title}" did not come`);
    await frame();
  }
  await frame();
  return { drawn: performance.now() - start, asked: window.line.sent - start };
}"""

ANSWERED = "() => window.line.received - window.line.sent"


def rows(bench: Bench) -> Iterator[Row]:
    """In the browser, steps to the right and back, each after the page has come to rest.

    The server's part is read from the websocket: from the message that names the head to the last
    one that answers it. It holds the script's run and both ways over the line.
    """
    page = new_page(bench.browser)
    page.add_init_script(LISTEN)
    page.goto(bench.address + PATH)
    settled(page)
    drawn, answered = [], []
    for change in range(-2, bench.turns(CHANGES)):
        times = _press(page, *(("ArrowRight", 6) if change % 2 == 0 else ("ArrowLeft", 5)))
        if change >= 0:  # the first two are not counted
            drawn.append(times[0])
            answered.append(times[1])
    page.context.close()
    yield report.single("another head, from the key to the map redrawn", Spread(tuple(drawn)), GOAL)
    yield report.single("  of that, from the message sent to the last received", Spread(tuple(answered)), SERVER_GOAL)


def _press(page: Page, key: str, layer: int) -> tuple[float, float]:
    """Seconds until the map is drawn, and until the server's last message, of one step to ``layer``."""
    times = page.locator("canvas.heads").evaluate(PRESS, [key, f"Layer {layer}, head 4: weights"])
    settled(page)
    page.wait_for_timeout(400)  # until late messages have come, and the page is at rest
    return times["drawn"] / 1000, page.evaluate(ANSWERED) / 1000


def rows_of_server(bench: Bench) -> Iterator[Row]:
    """The whole attention page, run again with another head, in this process by Streamlit's AppTest.

    More than a visitor waits for: in the browser only the fragment with the figures runs again.
    """
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    page.switch_page("pages/attention.py")
    page.run()

    def change():
        view = page.session_state.view
        view.head = (view.head + 1) % 9
        page.run()

    yield report.single("the attention page's whole script, another head", repeated(change, bench.turns(15)))
