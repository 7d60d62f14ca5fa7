"""The server in trouble, as a person meets it: its port taken, a page that fails, a restart."""

import re
import socket
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from pages.shared.frame import PAGES
from tests.browser.conftest import PATIENCE_MS, ROOT, free_port, served, settled, started

pytestmark = pytest.mark.browser

#: The app with a part of one page that raises; it takes the arguments of Streamlit's command line.
FAILING = (
    "-c",
    """
import pages.shared.attention_parts as parts
from streamlit.web.cli import main

def fails(*_, **__):
    raise RuntimeError("what only the operator may read")

parts.map_figure = fails
main()
""",
)


#: In the browser: counts the runs of the page's script that have ended.
COUNT_RUNS = """() => {
  const app = document.querySelector("[data-testid=stApp]");
  window.runs = 0;
  new MutationObserver(() => { if (app.dataset.testScriptState === "notRunning") window.runs++; })
    .observe(app, { attributes: true, attributeFilter: ["data-test-script-state"] });
}"""


def test_a_taken_port_is_named_and_the_program_ends():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        command = [sys.executable, "-m", "streamlit", "run", "server.py", "--server.port", port]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_MS / 1000)
    assert ended.returncode == 1
    assert f"Port {port} is not available" in ended.stderr and "Traceback" not in ended.stderr
    assert "URL" not in ended.stdout, "it does not pretend to listen elsewhere"


def test_a_page_that_fails_shows_a_sentence_and_the_others_go_on(visit, small_model, tmp_path):
    log = tmp_path / "log"
    with served(log, FAILING, EXPLAINER_MODELS=str(small_model)) as address:
        page = visit(f"{address}/attention?model=folder-tiny&layer=2&prompt=the%20river")
        told = page.get_by_text("The page 'Attention' could not be shown to its end")
        expect(told).to_be_visible()
        for leak in ("RuntimeError", "operator may read", "Traceback", "attention_parts"):
            expect(page.get_by_text(leak)).to_have_count(0)
        page.get_by_test_id("stSidebar").get_by_role("link", name="Tokens").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(PAGES["tokens"].question)
        expect(told).to_have_count(0)
        expect(page).to_have_url(re.compile(r"layer=2\b"))
        settled(page)
        page.close()
    logged = log.read_text()
    assert "Traceback" in logged and "what only the operator may read" in logged


def test_pages_that_are_open_come_back_when_the_server_does(browser, small_model, tmp_path):
    """The process is killed and another takes its port: nobody has to reload."""
    log, port = tmp_path / "log", free_port()
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    process = started(log, port, EXPLAINER_MODELS=str(small_model))
    try:
        page.goto(f"http://127.0.0.1:{port}/attention?model=folder-tiny&layer=2&head=5&prompt=the%20river&written=7.8")
        settled(page)
        chips = page.locator(".strip").get_by_role("option")
        expect(chips).not_to_have_count(0)
        page.get_by_test_id("stMain").get_by_role("button", name="Decrement").first.click()
        expect(page).to_have_url(re.compile(r"layer=1\b"))
        expect(page.get_by_text("Layer 1, head 5: weights").first).to_be_visible()
        settled(page)
        before = page.url, chips.all_inner_texts()

        page.evaluate(COUNT_RUNS)
        process.kill()
        process.wait()
        expect(page.get_by_test_id("stApp")).not_to_have_attribute("data-test-connection-state", "CONNECTED")
        process = started(log, port, EXPLAINER_MODELS=str(small_model))
        page.wait_for_function("window.runs > 0")
        assert (page.url, chips.all_inner_texts()) == before
        # The new server knows nothing of the page but its address, and answers what is done to it.
        page.get_by_test_id("stMain").get_by_role("button", name="Increment").first.click()
        expect(page.get_by_text("Layer 2, head 5: weights").first).to_be_visible()
        settled(page)
        assert (page.url.replace("layer=2", "layer=1"), chips.all_inner_texts()) == before
        assert "written=7.8" in page.url
    finally:
        context.close()
        process.kill()
        process.wait()
