"""The app as page tests see it: a page opened cold, its words, its buttons, its measurements."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from streamlit.testing.v1 import AppTest

from model import LanguageModel
from pages.shared.anatomy import LOOK_EVERY
from pages.shared.frame import PAGES
from tests.pages import waiting

#: Seconds that a measurement may take on a machine that does other things.
PATIENCE = 300


def opened(slug: str, **parameters: str) -> AppTest:
    """The page, opened cold, as a link opens it: app.py itself has not run."""
    page = AppTest.from_file("../../app.py", default_timeout=120)
    if slug != "home":
        page.switch_page(PAGES[slug].file)
    for name, value in parameters.items():
        page.query_params[name] = value
    return page.run()


def button(page: AppTest, label: str):
    """The button of that label."""
    return next(each for each in page.button if each.label == label)


def said(page: AppTest) -> str:
    """All prose of the page as it is written, with its markup."""
    return " ".join(element.proto.body for element in page.get("html"))


def words(page: AppTest) -> str:
    """All prose of the page, its numbers and tokens free of their markup."""
    text = said(page)
    for piece in ('<span class="number">', "</span>", "<b>", "</b>", "<bdi>", "</bdi>", "<i>", "</i>"):
        text = text.replace(piece, "")
    return text


def warned(page: AppTest) -> str:
    """All warnings of the page, as they are read."""
    return " ".join(each.value for each in page.warning).replace("\\", "")


def whole(page: AppTest) -> AppTest:
    """The page, which has raised nothing."""
    assert not page.exception, page.exception
    return page


def measured(page: AppTest, name: str) -> AppTest:
    """Look again until the measurement of that name has ended: a test's fragments do not run by themselves."""
    _look_while(page, lambda: page.session_state[f"measured_{name}"]["running"])
    return page.run()


def ended(page: AppTest) -> AppTest:
    """Look again until nothing is being measured."""
    _look_while(page, lambda: any(each.label == "Stop" for each in page.button))
    return page


def _look_while(page: AppTest, is_running: Callable[[], bool]) -> None:
    """Look again, as seldom as a browser does: looking takes time from the work."""
    until = time.monotonic() + PATIENCE
    while is_running():
        assert time.monotonic() < until, "the measurement does not end"
        waiting.for_work(LOOK_EVERY)
        whole(page.run())


@contextmanager
def forward_passes(lm: LanguageModel) -> Iterator[list[int]]:
    """A list that grows by one with every forward pass of the model.

    Measurements that earlier tests have left behind end first: their passes are not the block's.
    """
    for thread in waiting.working():
        thread.join(timeout=PATIENCE)
    passes: list[int] = []
    hook = lm.module.register_forward_hook(lambda *_: passes.append(1))
    try:
        yield passes
    finally:
        hook.remove()
