"""One fact in contexts of several lengths: where it is put, what is asked, and what the numbers are."""

import pytest

from model import TextRefused
from model.conversation import answer_probability
from model.cost import kv_bytes
from model.filler import SENTENCES, filled_up, sentences_of
from model.recall import (
    DEPTHS,
    Probe,
    haystack,
    lengths_that_fit,
    prompt_with,
    recall,
    recalled,
    rows_of,
)
from tests.tiny import FAMILIES, explained

PROBE = Probe("on?", "on", "mat")


def test_the_fact_stands_where_it_is_put():
    four = ["A.", "B.", "C.", "D."]
    assert haystack(four, "X.", 0.0) == "X. A. B. C. D."
    assert haystack(four, "X.", 0.25) == "A. X. B. C. D."
    assert haystack(four, " X. ", 1.0) == "A. B. C. D. X."
    assert haystack(four, "X.", None) == "A. B. C. D."


def test_filler_is_cut_into_sentences_and_bounded():
    assert sentences_of("One. Two!\nthree\n\n four? Five") == ("One.", "Two!", "three", "four?", "Five")
    assert sentences_of("") == sentences_of(" \n ") == SENTENCES
    assert len(sentences_of("a. " * 5_000)) == 100


def test_filler_fills_up_to_the_tokens_asked_for_and_repeats_when_it_ends():
    lm = explained("gpt2")
    some = ("the cat sat on the mat.", "the river.")
    lengths = [len(lm.tokenizer(f" {each}")["input_ids"]) for each in some]
    assert filled_up(lm, some, sum(lengths)) == list(some)
    assert filled_up(lm, some, sum(lengths) * 2 + lengths[0]) == [*some, *some, some[0]]
    assert filled_up(lm, some, 1) == [some[0]]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_is_as_likely_as_in_one_pass_over_everything(family):
    """Prefill and reply in two passes over a cache give what one pass gives, up to rounding."""
    lm = explained(family)
    prompt = prompt_with(lm, "the cat sat.", PROBE.question)
    lead, answer, likeliest, seconds, kept = recalled(lm, prompt, PROBE)
    whole = answer_probability(lm, PROBE.begun(lm, prompt), PROBE.answer_text(lm))
    assert answer.ids == whole.ids
    assert answer.probabilities == pytest.approx(whole.probabilities, rel=1e-3, abs=1e-6)
    beginning = answer_probability(lm, prompt, " on")
    assert lead == pytest.approx(beginning.probabilities, rel=1e-3, abs=1e-6)
    assert len(likeliest) == len(answer.ids) and seconds > 0
    if not lm.architecture.windowed_layers:
        assert kept == kv_bytes(lm.architecture, len(prompt), lm.bytes_per_value)


def test_every_length_is_asked_without_the_fact_and_at_every_depth():
    lm = explained("gpt2")
    found = list(recall(lm, "the cat.", PROBE, ("the mat.", "a river."), [8, 16]))
    assert [(each.length, each.depth) for each in found] == [
        (length, depth) for length in (8, 16) for depth in (None, *DEPTHS)
    ]
    short, long = rows_of(found)
    assert short.without.depth is None and [cell.depth for cell in short.cells] == list(DEPTHS)
    assert long.tokens > short.tokens > short.without.tokens
    assert all(0 <= each.reply <= each.answer.probability for each in found)
    assert all(each.is_found == (each.likeliest == each.answer.ids) for each in found)


def test_rows_are_drawn_while_they_are_measured():
    lm = explained("gpt2")
    some = [each for each, _ in zip(recall(lm, "the cat.", PROBE, ("the mat.",), [8]), range(3))]
    (row,) = rows_of(some)
    assert row.cells[2:] == (None, None, None) and row.cells[0].depth == 0.0
    assert row.prefill > 0


def test_only_lengths_that_the_model_was_made_for():
    lm = explained("gpt2")  # 64 positions
    assert lengths_that_fit(lm, "the cat.", PROBE, [4, 8, 64, 512]) in ([4], [4, 8])
    assert lengths_that_fit(lm, "the cat. " * 40, PROBE, [4]) == []


@pytest.mark.parametrize(
    ("fact", "probe"),
    [(" ", PROBE), ("a", Probe(" ", "b", "c")), ("a", Probe("b", "c", " "))],
)
def test_what_is_missing_is_a_sentence(fact, probe):
    with pytest.raises(TextRefused):
        list(recall(explained("gpt2"), fact, probe, ("the mat.",), [4]))


def test_without_a_template_a_reply_begins_after_a_space():
    lm = explained("gpt2")
    assert lm.tokenizer.decode(Probe("q", "on the", "mat").lead_ids(lm)) == " on the"
    assert Probe("q", "", " mat ").answer_text(lm) == " mat"


@pytest.mark.default_model
def test_the_default_model_needs_the_fact_and_finds_it(default_model):
    """7421 cannot be guessed; told, it is found: .437 at the end of 117 tokens, by answer_probability alone."""
    probe = Probe("What is the secret code of the project?", "The secret code of the project is", "7421")
    fact = "The secret code of the project is 7421."
    found = list(recall(default_model, fact, probe, SENTENCES, [64], depths=(0.0, 1.0)))
    assert found[0].answer.probability < 1e-6
    assert found[2].answer.probability == pytest.approx(0.4378, abs=0.01)
    assert found[2].answer.probability > found[1].answer.probability > 0.1
    assert found[2].is_found and not found[0].is_found
    assert default_model.tokenizer.decode(found[0].answer.ids) == " 7421"


@pytest.mark.default_model
def test_after_a_template_a_bare_answer_has_no_space_before_it(default_model):
    assert Probe("q", "", "7421").answer_text(default_model) == "7421"
    assert Probe("q", "It is", "7421").answer_text(default_model) == " 7421"
