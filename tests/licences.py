"""The licence of every library that the app runs on: ``python -m tests.licences`` lists them.

A test fails if one comes whose licence is not accepted below.
"""

import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

#: Licences that ask for no more than their own text to be kept, by the names that packages give them.
PERMISSIVE = {
    "Apache-2.0": ("Apache Software License", "Apache License 2.0", "Apache 2.0 License", "Apache 2"),
    "Apache-2.0 WITH LLVM-exception": (),
    "MIT": ("MIT License",),
    "MIT-CMU": (),
    "BSD-2-Clause": (),
    "BSD-3-Clause": ("BSD License", "3-Clause BSD License"),
    "BSL-1.0": (),
    "ISC": ("ISC License (ISCL)",),
    "Zlib": (),
    "0BSD": (),
    "CC0-1.0": (),
    "PSF-2.0": (),
    "CNRI-Python": (),
}
#: Accepted too: who changes a file of these must publish that file. None is changed or shipped here.
WEAK_COPYLEFT = {"MPL-2.0": ("Mozilla Public License 2.0 (MPL 2.0)",)}
#: Brought by torch's usual build for Linux, under the maker's own terms; the app runs without them.
NOT_FREE = re.compile(r"nvidia-|cuda-")

_NAMES = {name: spdx for table in (PERMISSIVE, WEAK_COPYLEFT) for spdx, names in table.items() for name in names}


def installed() -> dict[str, metadata.Distribution]:
    """The distributions that the app's requirements bring on this machine, by name, in order."""
    wanted = [Requirement(line) for line in _lines("requirements.txt") + _lines("requirements-model.txt")]
    carriers = {canonicalize_name(Requirement(line).name) for line in _lines("requirements-model.txt")}
    found: dict[str, metadata.Distribution] = {}
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        if name in found:
            continue
        found[name] = metadata.distribution(requirement.name)
        if name not in carriers:  # those are installed without what they ask for
            wanted += [each for each in map(Requirement, found[name].requires or ()) if _applies(each, requirement)]
    return dict(sorted(found.items()))


def _lines(file: str) -> list[str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [line.split(" --hash")[0] for line in lines if line and not line.startswith("#")]


def _applies(each: Requirement, asked_by: Requirement) -> bool:
    """Whether a requirement holds on this machine, with the extras that were asked for."""
    return each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *asked_by.extras))


def licences(distribution: metadata.Distribution) -> list[str]:
    """The licences a distribution states, by their SPDX names where they are known; all of them hold."""
    about = distribution.metadata
    stated = about.get("License-Expression")
    if not stated:
        classes = [each.split(" :: ")[-1] for each in about.get_all("Classifier", []) if "License ::" in each]
        short = (about.get("License") or "").strip()
        stated = " AND ".join(each for each in classes if each != "OSI Approved") or (short if len(short) < 80 else "")
    return [_NAMES.get(part, part.strip("()")) for part in re.split(r" AND | OR ", stated)]


def not_accepted() -> dict[str, list[str]]:
    """Distributions with a licence that is on no list above."""
    accepted = {*PERMISSIVE, *WEAK_COPYLEFT}
    found = {name: licences(each) for name, each in installed().items() if not NOT_FREE.match(name)}
    return {name: stated for name, stated in found.items() if not accepted.issuperset(stated)}


def main() -> int:
    for name, each in installed().items():
        print(f"{name:<28} {each.version:<18} {', '.join(licences(each))}")
    refused = not_accepted()
    for name in refused:
        print(f"{name}: this licence is not accepted; see tests/licences.py.", file=sys.stderr)
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
