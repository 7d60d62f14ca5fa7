"""``python -m tests.bench``: measure everything, and print one table."""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterator

from tests.bench import (
    cached,
    decoding,
    head_change,
    overview,
    report,
    rerunning,
    sampling_move,
    start,
    sweeping,
    tracing,
    wire,
    writing,
)
from tests.bench.app import chromium
from tests.bench.bench import Bench
from tests.bench.report import Row

Topic = Callable[[Bench], Iterator[Row]]

TOPICS: dict[str, Topic] = {
    "trace": tracing.rows,
    "generate": writing.rows,
    "cache": cached.rows,
    "decode": decoding.rows,
    "sweep": sweeping.rows,
    "overview": overview.rows,
    "script": head_change.rows_of_script,
    "rerun": rerunning.rows,
}
IN_BROWSER: dict[str, Topic] = {
    "start": start.rows,
    "wire": wire.rows,
    "temperature": sampling_move.rows,
    "head": head_change.rows,
}


def main() -> int:
    """Exit code 0 unless something breaks: a goal that is missed is not an error."""
    wanted = arguments()
    print(f"{report.machine()}\n")
    rows: list[Row] = []
    broken = 0
    begin = time.monotonic()
    with Bench(wanted.quick) as bench:
        for name, topic in chosen(wanted).items():
            print(f"{name} …", file=sys.stderr, flush=True)
            try:
                rows += topic(bench)
            except Exception:  # one topic that breaks must not hide what the others found
                traceback.print_exc()
                broken += 1
    print(report.table(rows))
    print(f"\n{report.caution(rows)}\nMeasured in {time.monotonic() - begin:.0f} s; {report.load()}")
    return 1 if broken else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, and nothing in the browser")
    parser.add_argument("--only", choices=[*TOPICS, *IN_BROWSER], help="one topic")
    return parser.parse_args()


def chosen(wanted: argparse.Namespace) -> dict[str, Topic]:
    """The topics to run; those in the browser only where there is one."""
    every = {**TOPICS, **IN_BROWSER}
    if wanted.only:
        return {wanted.only: every[wanted.only]}
    if wanted.quick:
        return TOPICS
    if chromium() is None:
        print("There is no chromium on this machine: nothing is measured in the browser.\n")
        return TOPICS
    return every


if __name__ == "__main__":
    sys.exit(main())
