"""The server for a room: what it says it opens is what it opens."""

import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import serve
from pages.shared.limits import limits_from

ROOT = Path(serve.__file__).parent


def test_it_says_where_it_opens_and_what_a_visitor_may_ask_for():
    said = serve.announcement(limits_from(serve.ROOM), 8600, ["192.168.1.7"])
    assert "everyone who can reach this machine" in said and "http://192.168.1.7:8600" in said
    assert "Without a password" in said
    for name, value in serve.ROOM.items():
        assert f"{name}={value} " in said


def test_a_machine_without_a_network_is_said():
    assert "no address in a network" in serve.announcement(limits_from(serve.ROOM), 8600, [])


def test_what_the_operator_names_is_stronger():
    limits = limits_from(serve.environment({"EXPLAINER_MAX_TOKENS": "300"}))
    assert (limits.tokens, limits.sessions) == (300, 40)


def test_a_bound_that_is_none_ends_it_with_a_sentence():
    run = subprocess.run(
        [sys.executable, "serve.py"],
        cwd=ROOT,
        env={**os.environ, "EXPLAINER_MAX_SESSIONS": "many"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("The server cannot start: EXPLAINER_MAX_SESSIONS (visitors at once")


def test_it_answers_in_the_network_and_says_so_first(tmp_path):
    others = serve.addresses()
    if not others:
        pytest.skip("this machine has no address but its own")
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    log = tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.Popen([sys.executable, "serve.py", "--port", str(port)], cwd=ROOT, stdout=output)
    try:
        assert status_of(f"http://{others[0]}:{port}/_stcore/health", process) == 200
        assert f"http://{others[0]}:{port}" in log.read_text().split("Limits")[0]
    finally:
        process.terminate()
        process.wait()


def status_of(address: str, process: subprocess.Popen) -> int | None:
    """What the server answers, as soon as it does; None if it ended before."""
    while process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                return answer.status
        except OSError:  # nobody listens yet
            process.poll()
    return None
