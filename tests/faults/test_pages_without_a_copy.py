"""The prepared copy in trouble, as a visitor meets it."""

import shutil
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from model import preparation
from model.registry import listed_model
from pages.shared.store import opened_model
from tests.faults.conftest import cut


def opened(**parameters: str) -> AppTest:
    page = AppTest.from_file("../../app.py", default_timeout=120).switch_page("pages/tokens.py")
    page.query_params.update(parameters)
    return page.run()


@pytest.fixture
def offered(gguf, monkeypatch) -> Path:
    """The file offered on the page, and nothing opened from another test's file of that name."""
    monkeypatch.setenv("EXPLAINER_MODELS", str(gguf))
    opened_model.clear("file-tiny")
    return gguf


def is_whole(page: AppTest) -> bool:
    headings = [heading.value for heading in page.subheader]
    return not (page.exception or page.error or page.warning) and "Where it stops being true" in headings


def test_a_damaged_copy_is_made_again_in_sight(offered, monkeypatch):
    target = preparation.prepared_folder(listed_model(str(offered)))
    cut("model.safetensors")(target)
    progress, said = st.progress, []
    monkeypatch.setattr(st, "progress", lambda share, text: said.append(text) or progress(share, text))
    page = opened(model="file-tiny")
    assert said == ["Preparing the model, once"]
    assert is_whole(page) and preparation.is_prepared(target)
    assert page.selectbox(key="widget_model").value == "file-tiny"


def test_a_copy_that_goes_while_its_model_is_open_is_not_missed(offered, monkeypatch):
    page = opened(model="file-tiny")
    assert is_whole(page)
    shutil.rmtree(preparation.prepared_target(listed_model(str(offered))))
    monkeypatch.setattr(preparation, "_unpack", lambda *_: pytest.fail("it was made again"))
    assert is_whole(page.run()) and is_whole(opened(model="file-tiny"))


def test_a_cache_that_cannot_be_written_is_told_on_the_page(offered, tmp_path):
    (tmp_path / "cache").write_text("")
    page = opened(model="file-tiny")
    assert not page.exception
    told = page.error[0].value.replace("\\", "")
    assert f"could not be written to {tmp_path / 'cache'}" in told and "EXPLAINER_CACHE" in told
    (tmp_path / "cache").unlink()
    assert is_whole(opened(model="file-tiny")), "and when it can, it is"
