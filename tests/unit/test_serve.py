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


def test_it_answers_in_the_network_and_says_so_first():
    others = serve.addresses()
    if not others:
        pytest.skip("this machine has no address but its own")
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "serve.py", "--port", str(port)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if line.strip().startswith("URL:"):
                break
        assert any(f"http://{others[0]}:{port}" in line for line in said)
        with urllib.request.urlopen(f"http://{others[0]}:{port}/_stcore/health", timeout=60) as answer:
            assert answer.status == 200
    finally:
        process.terminate()
        process.wait()
