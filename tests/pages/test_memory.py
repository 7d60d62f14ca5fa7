"""What a visitor's session holds on to: nothing as large as a run of the model."""

import gc

import pytest
import torch

from model import Trace
from pages.shared.frame import PAGES
from pages.shared.store import measurements, results
from tests.pages.test_pages import opened
from tests.pages.waiting import for_work, working

pytestmark = pytest.mark.default_model

#: Bytes of tensors that a page may keep for its controls: a few vectors and one set of logits.
SMALL = 2_000_000


def traces() -> list[Trace]:
    """Every run that is alive."""
    return [each for each in gc.get_objects() if isinstance(each, Trace)]


def tensors() -> dict[int, int]:
    """Bytes of every tensor that is alive, by where they lie."""
    alive = [each for each in gc.get_objects() if isinstance(each, torch.Tensor)]
    return {each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in alive}


@pytest.mark.parametrize("slug", PAGES)
def test_a_session_at_rest_keeps_no_run(slug, default_model):
    opened(slug)  # what a page opens once for all, as other vocabularies, is there
    results().clear()
    gc.collect()
    before, others = tensors(), {id(run) for run in traces()}
    page = opened(slug, prompt="Nobody keeps this text, nor what was made of it, when the page stands still.")
    while working():
        for_work()
        page.run()
    page.run()  # is told of the end
    results().clear()
    measurements().clear()
    gc.collect()
    assert not [run for run in traces() if id(run) not in others]
    assert sum(size for where, size in tensors().items() if where not in before) < SMALL
