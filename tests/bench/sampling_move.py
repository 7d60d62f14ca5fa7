"""A move of the temperature on the sampling page: all in the browser, from the event to the picture."""

from collections.abc import Iterator

from tests.bench import report
from tests.bench.bench import Bench
from tests.bench.measure import Spread
from tests.bench.report import Row

GOAL = 0.016
MOVES = 80
WARM_UP = 10

# One move a frame, as when a hand drags; the message port answers after that frame has been
# styled, laid out and painted. Python hears nothing until the hand rests for longer than that.
MOVE = """async (slider, moves) => {
  const stage = slider.closest(".stage");
  const channel = new MessageChannel();
  const painted = () => new Promise((resolve) => {
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(null);
  });
  const taken = [];
  for (let i = 0; i < moves; i += 1) {
    await new Promise(requestAnimationFrame);
    const start = performance.now();
    slider.value = 0.4 + 0.02 * (i < moves / 2 ? i : moves - i);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await painted();
    taken.push([performance.now() - start, Number(stage.dataset.moveMs.split(" ").at(-1))]);
  }
  return taken;
}"""


def rows(bench: Bench) -> Iterator[Row]:
    """Two medians: until the frame is painted, and of the component's own work, as it says in ``moveMs``."""
    page = bench.page("/sampling")
    slider = page.get_by_label("Temperature T")
    slider.evaluate(MOVE, WARM_UP)
    painted, own = zip(*slider.evaluate(MOVE, bench.turns(MOVES)), strict=True)
    yield report.single("a temperature move, until it is painted", _seconds(painted), GOAL)
    yield report.single("  of that, the component's own work", _seconds(own))
    page.context.close()


def _seconds(milliseconds: tuple[float, ...]) -> Spread:
    return Spread(tuple(value / 1000 for value in milliseconds))
