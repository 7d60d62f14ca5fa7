"""A page that raises what nobody foresaw: a sentence for the visitor, the traceback for the log."""

import os

import pytest
from streamlit.testing.v1 import AppTest, app_test
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

import server
from tests.faults.conftest import saved

SECRET = "what only the operator may read"


def fails(*_, **__):
    raise RuntimeError(SECRET)


@pytest.fixture
def page(tmp_path, monkeypatch) -> AppTest:
    """The tokens page of a tiny model, with the server's way to tell of failures."""

    class Runner(LocalScriptRunner):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            self._on_script_error = server.tell_of_failure

    monkeypatch.setattr(app_test, "LocalScriptRunner", Runner)
    monkeypatch.setenv("EXPLAINER_MODELS", os.pathsep.join([str(saved(tmp_path / "failing"))]))
    page = AppTest.from_file("../../app.py", default_timeout=120).switch_page("pages/tokens.py")
    page.query_params.update({"model": "folder-failing", "prompt": "the river"})
    return page


def shown(page: AppTest) -> str:
    return "\n".join(str(element.proto) for element in page.main) + str(page.sidebar)


@pytest.mark.parametrize("part", ["tokens_parts.presets", "merges_parts.words_of"])
def test_a_page_that_fails_says_which_and_what_to_do(page, monkeypatch, part):
    """In the page itself; and in a part of it that runs by itself."""
    monkeypatch.setattr(f"pages.shared.{part}", fails)
    page.run()
    (error,) = page.error
    assert error.value.startswith("The page 'Tokens' could not be shown to its end")
    assert "Reload the page" in error.value and "in the address" in error.value
    assert not page.exception and page.title[0].value == "What does the model read?"
    assert SECRET not in shown(page) and "RuntimeError" not in shown(page)
    page.switch_page("pages/planner.py").run()
    assert not page.error and page.title[0].value == "Will it hold?", "the others go on"


def test_a_frame_that_fails_says_so_too(page, monkeypatch):
    monkeypatch.setattr("pages.shared.frame.token_strip", fails)
    page.run()
    assert page.error[0].value.startswith("The page 'Tokens'")


def test_a_click_that_fails_says_so_too_and_the_next_one_is_answered(page, monkeypatch):
    monkeypatch.setattr("pages.shared.state.View.new_text", fails)
    page.run()
    page.button(key="example_1").click().run()
    assert page.error and SECRET not in shown(page) and not page.exception
    page.run()
    assert not page.error and page.title[0].value == "What does the model read?"
