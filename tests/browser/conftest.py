"""A real server and a real browser. Debian's chromium is used; nothing is downloaded."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import tiny

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Generous: what is waited for comes sooner, and a busy machine is no fault of the app.
PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items):
    """Without a browser these tests cannot run; on CI that is a failure, elsewhere a skip."""
    if shutil.which("chromium") or os.environ.get("CI"):
        return
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason="there is no chromium on this machine: install Debian's chromium"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def small_model(tmp_path_factory) -> Path:
    """A tiny model in a folder, to be offered beside the default one."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    tiny.plain("gpt2").save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


#: What runs the app, given the arguments of Streamlit's command line.
STREAMLIT = ("-m", "streamlit")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(log: Path, port: int, program: Sequence[str] = STREAMLIT, **environment: str) -> subprocess.Popen:
    """The app's process, when it listens; what it logs is added to ``log``."""
    command = [sys.executable, *program, "run", "server.py", "--server.port", str(port)]
    with log.open("a") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=output, text=True
        )
    for line in process.stdout:  # the server says its address when it listens
        if "URL" in line:
            return process
    process.wait()
    pytest.fail(f"the server did not start; see {log}")


@contextmanager
def served(log: Path, program: Sequence[str] = STREAMLIT, **environment: str) -> Iterator[str]:
    """The app on a free port, until the block ends; its output goes to ``log``."""
    port = free_port()
    process = started(log, port, program, **environment)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def server(tmp_path_factory, small_model) -> Iterator[str]:
    """One server for most tests, with a tiny model on offer beside the default."""
    log = tmp_path_factory.mktemp("server") / "log"
    with served(log, EXPLAINER_MODELS=str(small_model)) as address:
        yield address
    assert "Traceback" not in log.read_text(), f"the server logged an error; see {log}"


@pytest.fixture
def visit(browser):
    """Open an address in a browser context of its own; what went wrong on the page fails the test."""
    contexts, wrong = [], []

    def opened(address: str, refuse_dialogs: bool = False, **options) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}} | options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        own = {urlsplit(address).netloc, ""}  # data and blob addresses name no host
        page.on("request", lambda request: wrong.append(request.url) if urlsplit(request.url).netloc not in own else 0)
        if refuse_dialogs:
            page.on("dialog", lambda dialog: wrong.append(f"a script ran: {dialog.message}"))
        page.goto(address)
        settled(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong, wrong


def settled(page: Page) -> None:
    """Wait until the script has run, and nothing is marked as stale."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    expect(page.locator("[data-testid=stException]")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
