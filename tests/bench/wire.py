"""What a page weighs on the wire: a first visit, a second one, and one click."""

import time
from collections.abc import Callable, Iterator

from playwright.sync_api import Locator
from playwright.sync_api import Page as BrowserPage

from pages.shared.frame import PAGES
from tests.bench import report
from tests.bench.app import new_page, settled
from tests.bench.bench import Bench
from tests.bench.measure import Spread
from tests.bench.relay import Relay
from tests.bench.report import Row

#: Nothing has passed for so long, seconds: then all has come.
SILENCE = 0.7
#: Seconds after which no more is waited for: a page that measures tells the browser how far it is.
LIMIT = 30.0
DRAGS, MOVES = 3, 30
#: Bytes that a hand on the slider may cost.
DRAG_GOAL = 0
DRAGGED = "  the temperature, while it is dragged"

# Moves the slider in every frame until it is told to stop, as a hand that drags; tells how often it did.
DRAG = """slider => {
  slider.moved = 0;
  const move = () => {
    if (slider.moved === null) return;
    slider.moved += 1;
    slider.value = 0.4 + 0.02 * (slider.moved % 60);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    requestAnimationFrame(move);
  };
  move();
}"""


def rows(bench: Bench) -> Iterator[Row]:
    """Bytes both ways, of HTTP and the websocket together, each until the page is at rest."""
    with Relay.to(bench.address) as relay:
        before = new_page(bench.browser)  # for this visitor the server works out what it then keeps for everybody
        for slug, page in PAGES.items():
            address = relay.address + ("/" if slug == "home" else f"/{slug}")
            _visit(before, relay, address)
            before.goto("about:blank")
            yield from _page(bench, relay, slug, address, page.name)
        before.context.close()


def _page(bench: Bench, relay: Relay, slug: str, address: str, name: str) -> Iterator[Row]:
    page = new_page(bench.browser)
    first = _visit(page, relay, address)
    page.goto("about:blank")
    page.wait_for_timeout(500)  # until the first visit has taken its leave
    second = _visit(page, relay, address)
    yield Row(name, report.size(first), report.size(second))
    yield _interaction("another token chosen in the strip", relay, page, lambda: _another(page).click())
    if slug == "attention":
        grid = page.locator("canvas.heads")
        yield _interaction("another head", relay, page, lambda: grid.press("ArrowLeft"))
    if slug == "sampling":
        yield from _temperature(relay, page)
    page.context.close()


def _visit(page: BrowserPage, relay: Relay, address: str) -> int:
    relay.forget()
    page.goto(address)
    _wait_for_rest(page, relay)
    return relay.bytes_passed()


def _wait_for_rest(page: BrowserPage, relay: Relay) -> None:
    """Until something has passed, the script has ended, the browser has nothing to do, and nothing passes any more."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        settled(page)
        page.evaluate("() => new Promise((done) => requestIdleCallback(() => done()))")
        if relay.seconds_of_silence() > SILENCE:
            return
        page.wait_for_timeout(100)


def _interaction(what: str, relay: Relay, page: BrowserPage, act: Callable[[], object]) -> Row:
    relay.forget()
    act()
    _wait_for_rest(page, relay)
    return Row(f"  {what}", report.size(relay.bytes_passed()))


def _another(page: BrowserPage) -> Locator:
    """The first token that is not selected."""
    return page.locator(".strip [role=option][aria-selected=false]").first


def _temperature(relay: Relay, page: BrowserPage) -> Iterator[Row]:
    """While the hand is on the slider, and when it has let go."""
    slider = page.get_by_label("Temperature T")
    during, after = zip(*(_drag(relay, page, slider) for _ in range(DRAGS)), strict=True)
    yield report.single(DRAGGED, Spread(during), DRAG_GOAL, report.size)
    yield report.single("  the temperature, when the hand has come to rest", Spread(after), shown=report.size)


def _drag(relay: Relay, page: BrowserPage, slider: Locator) -> tuple[int, int]:
    relay.forget()
    slider.evaluate(DRAG)
    page.wait_for_function("([slider, moves]) => slider.moved >= moves", arg=[slider.element_handle(), MOVES])
    during = relay.bytes_passed()  # it is still dragged
    slider.evaluate("slider => { slider.moved = null; }")
    _wait_for_rest(page, relay)
    return during, relay.bytes_passed() - during
