"""Another head on the attention page: the server's script, and from the key pressed to the map redrawn."""

from collections.abc import Iterator

from playwright.sync_api import Page
from streamlit.testing.v1 import AppTest

from tests.bench import report
from tests.bench.app import ROOT, new_page, settled
from tests.bench.bench import Bench
from tests.bench.measure import Spread, repeated
from tests.bench.relay import Relay
from tests.bench.report import Row

GOAL, SERVER_GOAL = 0.25, 0.15
RUNS, CHANGES, WARM_UP = 15, 10, 2
HEAD = 4

# Presses an arrow key on the grid of heads, and looks at the beginning of every frame whether the
# title names the new head and the map has other pixels: then this frame shows both.
PRESS = """async (grid, [key, title]) => {
  const nextFrame = () => new Promise(requestAnimationFrame);
  const pixels = () => document.querySelector(".st-key-attention_map image")?.href.baseVal;
  const titles = () => [...document.querySelectorAll(".figure-title")].map((node) => node.textContent);
  const before = pixels();
  const isDrawn = () => titles().some((text) => text.startsWith(title)) && pixels() && pixels() !== before;
  const start = performance.now();
  grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true }));
  while (!isDrawn()) {
    if (performance.now() - start > 30000) throw new Error(`no map came for "${title}"`);
    await nextFrame();
  }
  return (performance.now() - start) / 1000;
}"""


def rows_of_script(bench: Bench) -> Iterator[Row]:
    """The whole attention page's script, run again for another head by Streamlit's AppTest in this process.

    It is more than a visitor waits for: in the app only the fragment with the figures runs again.
    The trace and the overview are there already; no browser takes part.
    """
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    page.switch_page("pages/attention.py")
    page.run()

    def change():
        view = page.session_state.view
        view.head = (view.head + 1) % bench.lm.architecture.query_heads
        page.run()

    times = repeated(change, bench.turns(RUNS))
    yield from report.repeated("another head: the page's whole script", times, SERVER_GOAL)


def rows(bench: Bench) -> Iterator[Row]:
    """In the browser: a step to the next layer and back again, each after the page has come to rest.

    The server's part is read from the wire: from the message that names the head to the last one
    that answers it, by which Streamlit says that it is free again.
    """
    with Relay.to(bench.address) as relay:
        page = new_page(bench.browser)
        page.goto(f"{relay.address}/attention?layer=5&head={HEAD}")
        settled(page)
        steps = (("ArrowRight", 6), ("ArrowLeft", 5))
        times = [_press(page, relay, *steps[change % 2]) for change in range(WARM_UP + bench.turns(CHANGES))]
        page.context.close()
    drawn, answered = zip(*times[WARM_UP:], strict=True)
    yield report.single("another head: from the key to the map redrawn", Spread(drawn), GOAL)
    yield report.single("  the server's part, to its last answer", Spread(answered), SERVER_GOAL)


def _press(page: Page, relay: Relay, key: str, layer: int) -> tuple[float, float]:
    """Seconds of one step to ``layer``: until the map is drawn, and of the server."""
    relay.forget()
    drawn = page.locator("canvas.heads").evaluate(PRESS, [key, f"Layer {layer}, head {HEAD}: weights"])
    settled(page)
    page.wait_for_timeout(400)  # until the figures below have been drawn, too
    return drawn, relay.seconds_to_last_answer()
