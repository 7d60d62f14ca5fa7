"""The app in a process of its own, and a browser to look at it. Debian's chromium; nothing is downloaded."""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.bench import ENVIRONMENT

ROOT = Path(__file__).parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
START_LIMIT = 120  # seconds
LOGS = str(Path(tempfile.gettempdir()) / "explainer-bench-{port}.log")


def chromium() -> str | None:
    """Where the browser is, if there is one."""
    return shutil.which("chromium")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Chromium, until the block ends."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


def new_page(browser: Browser) -> Page:
    """An empty page with nothing cached, as wide as a laptop's screen."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    return page


@contextmanager
def served(**environment: str) -> Iterator[str]:
    """The app on a free port, until the block ends; gives its address as soon as it answers.

    ``environment`` is added to what is set for every measurement. The server's output goes to a
    file in the folder for temporary files.
    """
    port = _free_port()
    log = Path(LOGS.format(port=port))
    command = [sys.executable, "-m", "streamlit", "run", "server.py", "--server.port", str(port)]
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**ENVIRONMENT, **environment}, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _wait_until_it_answers(process, port, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_it_answers(process: subprocess.Popen, port: int, log: Path) -> None:
    end = time.monotonic() + START_LIMIT
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).close()
            return
        except OSError:  # nobody listens yet
            time.sleep(0.02)
    raise RuntimeError(f"The server did not start; see {log}.")


def settled(page: Page) -> None:
    """Wait until the script has run to its end and every component and figure has been drawn."""
    error = page.locator("[data-testid=stException]")
    page.get_by_role("heading", name="Where it stops being true").or_(error).first.wait_for()
    if error.count():
        raise RuntimeError(f"{page.url} shows an error; the server's log, {LOGS}, has its cause.")
    page.wait_for_function(
        """() => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
            && !document.querySelector("[data-testid=stSkeleton]")"""
    )
