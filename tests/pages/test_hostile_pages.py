"""Every page on the naughty strings and on hostile values of every parameter: words stay words."""

import dataclasses
import itertools
import json
import random
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest
from transformers import GPT2Config, GPT2LMHeadModel

from pages.shared import runs
from pages.shared.frame import PAGES
from pages.shared.state import BETWEEN, View
from tests import gpt2
from tests.hostile import MARKUP, NAUGHTY
from tests.pages.markup import more_than_words, strings
from tests.pages.test_pages import button, opened
from tests.pages.waiting import for_work

#: A tiny model of random weights with a real vocabulary: what is tested is the page, not the numbers.
KEY = "folder-small"
#: Tokens of a prompt; 512 are allowed.
CHUNK = 400


@pytest.fixture(scope="module", autouse=True)
def small_model(tmp_path_factory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("models") / "small"
    shape = GPT2Config(n_embd=48, n_layer=2, n_head=3, n_positions=1024, bos_token_id=50256, eos_token_id=50256)
    GPT2LMHeadModel(shape).save_pretrained(folder)
    gpt2.tokenizer().save_pretrained(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXPLAINER_MODELS", str(folder))
        patch.setattr(runs, "GRACE", 1.0)  # work that a test has left behind ends at once
        yield


def chunks() -> list[str]:
    """All naughty strings, joined to prompts that are short enough to run; a longer one is cut."""
    tokens, made, length = gpt2.tokenizer(), [[]], 0
    for text in filter(str.strip, NAUGHTY):
        text = text[:200]
        count = len(tokens(text)["input_ids"]) + 1
        if length + count > CHUNK:
            made.append([])
            length = 0
        made[-1].append(text)
        length += count
    return ["\n".join(each) for each in made]


def batches(texts: list[str], size: int, longest: int = 60) -> list[list[str]]:
    """The texts that say anything, cut, so many at a time; the last batch is filled up."""
    cut = [text[:longest] for text in texts if text.strip()]
    cut += cut[: -len(cut) % size]
    return [cut[start : start + size] for start in range(0, len(cut), size)]


def look(slug: str, **parameters: str) -> AppTest:
    """The page, closed and with everything on it opened, on the tiny model."""
    page = opened(slug, model=KEY, **parameters)
    for expander in page.expander:
        if key := getattr(expander, "key", None):
            page.session_state[key] = True
    assert not more_than_words(page) and not more_than_words(page.run())
    assert page.title[0].value == PAGES[slug].question
    return page


@pytest.mark.parametrize("slug", PAGES)
def test_naughty_strings_stay_words_on_every_page(slug):
    """Each page has its share of them; together they have all."""
    for text in chunks()[list(PAGES).index(slug) :: len(PAGES)]:
        page = look(slug, prompt=text)
        assert not page.warning, page.warning[0].value
        assert page.session_state.view.prompt == text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("slug", PAGES)
def test_a_model_by_any_name_is_only_a_name(slug):
    """Its name stands in a warning, which Streamlit reads as markdown."""
    for name in (" ".join(each) for each in batches(MARKUP, 40, 20)[list(PAGES).index(slug) % 7 :: 7]):
        page = opened(slug, model=name[:80], prompt="a b", specials="text")
        assert not more_than_words(page)
        assert "There is no model" in page.warning[0].value


def test_sentences_and_words_of_the_context_page_stay_words():
    for texts in batches(MARKUP, 20, 40):
        one, two, swap, more = (" ".join(texts[place : place + 5]) for place in range(0, 20, 5))
        look("context", one=f"bank {one}"[:400], two=f"bank {two}"[:400], word="bank", swap=swap[:60], more=more[:400])
    for one, word in batches(MARKUP[::24], 2):
        look("context", one=f"a {word} b {word}", two=one, word=word)


def test_what_is_said_and_asked_in_a_conversation_stays_words():
    fields = ["system", "document", "ask", "begin", "goal", "reply", "fact", "fact_ask", "fact_begin", "fact_goal"]
    fields += ["hay", "memo_ask", "memo_begin", "memo_goal"]
    for texts in batches(MARKUP, 4 + len(fields), 40):
        page = look("conversation", said=BETWEEN.join(texts[:4]), **dict(zip(fields, texts[4:], strict=True)))
        while page.session_state["measured_chat"]["running"]:
            for_work()
            page.run()
        assert not more_than_words(page.run())
        assert any('class="sent"' in text for _, _, text in strings(page)), "the prompts are not shown"


def test_a_pasted_conversation_stays_words():
    page = look("conversation", talk="own")
    for texts in batches(MARKUP, 24):
        said = [{"role": role, "content": text} for role, text in zip(itertools.cycle(["user", "assistant"]), texts)]
        for pasted in (json.dumps(said), f"{texts[0]}: x", json.dumps([{"role": texts[1], "content": "x"}])):
            page.text_area(key="talk_paste").set_value(pasted)
            page.button(key="talk_read").click().run()
            assert not more_than_words(page)


def test_what_is_kept_as_a_memory_stays_words():
    page = look("conversation")
    page.toggle(key="memory_switch").set_value(True).run()
    for text in [*MARKUP[::20], "'); DROP TABLE memories; --", "x' OR '1'='1"]:
        page.text_input(key="memory_new").set_value(text[:200])
        button(page, "Remember it").click().run()
        assert not more_than_words(page)
    assert len(page.session_state.memory_store.rows()) > 10


def test_names_and_answers_on_the_planner_stay_words():
    page = look("planner")
    page.session_state["paste"] = True
    page.run()
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 64, "intermediate_size": 64}
    sizes |= {"vocab_size": 100, "max_position_embeddings": 100}
    for name, kind, wrong, answer in batches(MARKUP[::6], 4):
        for config in ({"_name_or_path": name}, {"model_type": kind}, {"head_dim": wrong}, {"layer_types": [wrong]}):
            page.text_area(key="pasted_config").set_value(json.dumps({**sizes, **config}))
        page.text_input(key="words_0").set_value(answer)
        assert not more_than_words(page.run())


def test_a_token_chosen_to_be_hidden_stays_words():
    page = look("whatif")
    for text in ("$x$", "<b>", "`c`"):
        page.session_state.view.new_text(text)
        for position in range(4):
            page.session_state.view.position = position
            page.session_state["whatif_kind"] = "key"
            assert not more_than_words(page.run())


#: Values for any parameter; each address gives every parameter one of them.
VALUES = [
    "", "-1", "0", "0.5", "1e309", "nan", "999999999999999999999", "٣", " 7 ", "1_0", "\x00\u202e", "x" * 3_000,
    "<script>alert(1)</script>", ":material/home: www.evil.example", BETWEEN * 20, "~..~-1", "7.7.7~7", "none", "$x$",
    "../../etc/passwd", "'; DROP TABLE x; --", "H1.1H0.0K3W9", "\ufffe\U000bffff", "own", "long", "control",
]  # fmt: skip
#: These decide what is shown at all, and have tests of their own.
KEPT = {"model", "prompt"}


@pytest.mark.parametrize("slug", PAGES)
def test_any_value_of_every_parameter_gives_a_whole_page(slug):
    draw = random.Random(slug)
    address = {field.name: draw.choice(VALUES) for field in dataclasses.fields(View) if field.name not in KEPT}
    page = look(slug, prompt="the cat sat on the mat", **address)
    assert "Where it stops being true" in [each.value for each in page.subheader], address
