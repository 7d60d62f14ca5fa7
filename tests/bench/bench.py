"""What the topics share, each opened when first asked for."""

from contextlib import ExitStack
from functools import cached_property

import torch
from playwright.sync_api import Browser, Page
from transformers import AutoModelForCausalLM, PreTrainedModel

import model
from model.preparation import prepared_folder
from model.registry import listed_model
from tests.bench.app import new_page, running_browser, served, settled

#: Ordinary English, repeated until it is long enough.
TEXT = (
    "The capital of France is Paris, and the river that runs through it is the Seine. In spring its banks are full "
    "of people who read, talk and watch the boats go by. A language model reads such a text one token at a time: "
    "every token looks back at those before it, and from what it finds there the next one is guessed. "
)


class Bench:
    """What is measured: our model, the same model as transformers opens it, and the running app.

    Args:
        quick: fewer repeats.
    """

    def __init__(self, quick: bool):
        self.quick = quick
        self._stack = ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._stack.close()

    def turns(self, count: int) -> int:
        """How often to repeat: ``count``, or a third of it if it is to be quick."""
        return max(3, count // 3) if self.quick else count

    @cached_property
    def lm(self) -> model.LanguageModel:
        """The default model as the app opens it."""
        return model.open_model()

    @cached_property
    def plain(self) -> PreTrainedModel:
        """A second copy of the same weights, with transformers' own attention and nothing observed."""
        folder = prepared_folder(listed_model(None))
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True).eval()

    def ids(self, count: int) -> list[int]:
        """The first ``count`` tokens of the text."""
        once = model.tokenize(self.lm, TEXT).ids
        return [*once * (count // len(once) + 1)][:count]

    def text(self, count: int) -> str:
        """The text as long as ``count`` of its tokens reach."""
        whole = TEXT * (count // len(model.tokenize(self.lm, TEXT)) + 1)
        return whole[: model.tokenize(self.lm, whole)[count].start]

    @cached_property
    def browser(self) -> Browser:
        return self._stack.enter_context(running_browser())

    @cached_property
    def address(self) -> str:
        """Where one app runs, for the topics that do not start it themselves."""
        return self._stack.enter_context(served())

    def page(self, path: str) -> Page:
        """A page of the running app, in a browser context of its own, opened and at rest."""
        page = new_page(self.browser)
        page.goto(self.address + path)
        settled(page)
        return page
