"""``python -m tests.bench``: measure everything, print one table, and write ``docs/benchmarks.md``."""

import argparse
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path

from tests.bench import report
from tests.bench.app import ROOT, chromium
from tests.bench.bench import Bench
from tests.bench.page import Section, markdown
from tests.bench.topics import IN_BROWSER, REASONS, TOPICS, Topic

PAGE = ROOT / "docs" / "benchmarks.md"


def main() -> int:
    """Exit code 0 unless something breaks: a goal that is missed is not an error."""
    wanted = arguments()
    facts = report.machine() | {"Load before": report.load()}
    print("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n")
    topics = chosen(wanted)
    begin = time.monotonic()
    with Bench(wanted.quick) as bench:
        sections = measured(topics, bench)
        facts["Load after"] = report.load()
        facts["Measured in"] = report.seconds(time.monotonic() - begin)
        facts["Model"] = f"{bench.lm.title}, {bench.lm.dtype} on {bench.lm.device}"
        if topics.keys() & IN_BROWSER.keys():
            facts["Browser"] = f"Chromium {bench.browser.version}"
    rows = [row for section in sections for row in section.rows]
    print(f"{report.table(rows)}\n\n{report.caution(rows)}")
    print(f"Measured in {facts['Measured in']}; load {facts['Load after']}")
    if path := where(wanted, len(sections)):
        write(path, sections, facts)
    return 0 if len(sections) == len(topics) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, and nothing in the browser")
    parser.add_argument("--only", choices=[*TOPICS, *IN_BROWSER], help="one topic")
    parser.add_argument("--write", type=Path, metavar="PATH", help="where the page is written, whatever was measured")
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


def measured(topics: Mapping[str, Topic], bench: Bench) -> list[Section]:
    """What each topic found; one that breaks is left out."""
    sections = []
    for name, topic in topics.items():
        begin = time.monotonic()
        try:
            rows = list(topic.rows(bench))
        except Exception:  # one topic that breaks must not hide what the others found
            traceback.print_exc()
            continue
        sections.append(Section(topic.title, topic.says, rows, topic.headings))
        print(f"{name}: {report.seconds(time.monotonic() - begin)}", file=sys.stderr, flush=True)
    return sections


def where(wanted: argparse.Namespace, found: int) -> Path | None:
    """Where to write the page; by default only what a full run found in all topics takes the place of the last."""
    if wanted.write:
        return wanted.write
    is_whole = not wanted.quick and found == len(TOPICS) + len(IN_BROWSER)
    return PAGE if is_whole else None


def write(path: Path, sections: list[Section], facts: Mapping[str, str]) -> None:
    path.write_text(markdown(sections, facts, REASONS), encoding="utf-8")
    print(f"Written to {path}.")


if __name__ == "__main__":
    sys.exit(main())
