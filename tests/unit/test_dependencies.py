"""What is installed: the lock file agrees with the pins, no address in it, no licence that was not accepted."""

import re
from importlib import metadata

import pytest
from packaging.utils import canonicalize_name

from tests import licences

ROOT = licences.ROOT
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\;]+)", re.MULTILINE)


def pins(file: str) -> dict[str, str]:
    return {canonicalize_name(name): version for name, version in _PIN.findall((ROOT / file).read_text("utf-8"))}


LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_the_lock_file_has_every_pin_of_the_requirements_but_torchs():
    pinned, locked = pins("requirements.txt"), pins("requirements.lock")
    assert len(pinned) > 15 and "torch" not in locked
    assert {name: locked.get(name) for name in pinned if name != "torch"} == {
        name: version for name, version in pinned.items() if name != "torch"
    }


def test_the_lock_file_has_whatever_the_requirements_bring():
    carried = pins("requirements-model.txt")
    brought = [name for name in licences.installed() if not licences.NOT_FREE.match(name) and name not in carried]
    beside_torch = {"torch", "triton"}  # brought by torch's own build
    assert {*brought} - beside_torch <= {*pins("requirements.lock")}


def test_every_locked_version_has_its_hashes_and_no_address():
    entries = re.split(r"\n(?=[a-z0-9])", LOCK)
    named = [entry for entry in entries if _PIN.match(entry)]
    assert len(named) == len(pins("requirements.lock")) > 50
    for entry in named:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry[:60]
    for word in ("://", "--index", "--find-links", "--extra-index", "--trusted", " @ ", "file:"):
        assert word not in LOCK


def test_every_requirement_is_pinned():
    for file in ("requirements.txt", "requirements-test.txt", "requirements-bench.txt", "requirements-model.txt"):
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
            assert not line or line.startswith(("#", "-r ")) or _PIN.match(line), f"{file}: {line}"


def test_every_library_has_a_licence_that_is_accepted():
    assert len(licences.installed()) > 50
    assert not licences.not_accepted()


@pytest.mark.parametrize(
    ("stated", "found"),
    [
        ({"License-Expression": "MPL-2.0 AND MIT"}, ["MPL-2.0", "MIT"]),
        ({"License-Expression": "(Apache-2.0 OR BSD-2-Clause)"}, ["Apache-2.0", "BSD-2-Clause"]),
        ({"License": "GPL-3.0"}, ["GPL-3.0"]),
        ({"License": "a whole licence " * 20, "Classifier": "License :: OSI Approved :: MIT License"}, ["MIT"]),
        ({"Classifier": "License :: OSI Approved"}, [""]),
        ({}, [""]),
    ],
)
def test_licences_are_read_wherever_they_are_stated(stated, found, tmp_path):
    text = "".join(f"{name}: {value}\n" for name, value in {"Metadata-Version": "2.1", **stated}.items())
    (tmp_path / "METADATA").write_text(text, encoding="utf-8")
    assert licences.licences(metadata.PathDistribution(tmp_path)) == found


def test_a_licence_that_was_not_accepted_is_named(monkeypatch):
    monkeypatch.delitem(licences.PERMISSIVE, "MIT")
    assert licences.not_accepted()["einops"] == ["MIT"]
