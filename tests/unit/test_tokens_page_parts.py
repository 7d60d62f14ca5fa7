"""What the tokens page draws: stretches of the text, payloads of its components, and its two figures."""

import json

import pandas as pd
import pytest

from viz.merges import (
    LONGEST_WORD,
    Join,
    WordPicture,
    learned_when,
    merge_alt,
    merge_payload,
    merge_table,
    shrinking_figure,
)
from viz.style import LIGHT, Theme
from viz.tokens import Mark, Row, captions, clusters, price_figure, right_to_left, row_payload, stretches, written

FAMILY = "👨\u200d👩\u200d👧\u200d👦"


def mark(position, start, end, label="x", group=None, kind="starts"):
    return Mark(position, 100 + position, label, "78", start, end, position if group is None else group, kind)


# ---- signs ----


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        (FAMILY, [FAMILY]),
        ("👋🏽!", ["👋🏽", "!"]),
        ("🇯🇵🇩🇪", ["🇯🇵", "🇩🇪"]),
        ("e\u0301a", ["e\u0301", "a"]),
        ("\r\n", ["\r", "\n"]),
        ("हूँ", ["हूँ"]),
        ("❤️", ["❤️"]),
        ("", []),
    ],
)
def test_what_is_written_as_one_sign_stays_whole(text, signs):
    spans = dict.fromkeys(clusters(text))

    assert [text[start:end] for start, end in spans] == signs


def test_the_text_is_there_once_whatever_the_tokens_share():
    marks = [mark(0, 0, 1, group=0), mark(1, 0, 1, group=0), mark(2, 1, 2), mark(3, 2, 3), mark(4, 7, 10)]
    cut = stretches(Row("", FAMILY + " hi", marks))

    assert "".join(stretch.text for stretch in cut) == FAMILY + " hi"
    assert [mark.position for stretch in cut for mark in stretch.marks] == [0, 1, 2, 3, 4]
    assert [len(stretch.marks) for stretch in cut] == [4, 1]


def test_a_lost_character_stands_between_its_neighbours():
    cut = stretches(Row("", "a\x04b", [mark(0, 0, 1), mark(1, 2, 3)], lost=[(1, 2)]))

    assert [(stretch.text, stretch.lost) for stretch in cut] == [("a", ""), ("\x04", "\x04"), ("b", "")]


def test_a_lost_mark_is_told_with_its_letter():
    (stretch,) = stretches(Row("", "e\u0301", [mark(0, 0, 1)], lost=[(1, 2)]))

    assert stretch.lost == "\u0301"


def test_a_control_token_that_covers_nothing_has_a_stretch_of_its_own():
    cut = stretches(Row("", "Hi", [mark(0, None, None, "<s>", kind="control"), mark(1, 0, 2)]))

    assert [(stretch.text, stretch.marks[0].label) for stretch in cut] == [("", "<s>"), ("Hi", "x")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (" a", [["sign", "␣"], ["", "a"]]),
        ("\r\n\t", [["sign", "CR"], ["newline", "⏎"], ["sign", "⇥"]]),
        ("\u202ex\ufffd", [["sign", "‹U+202E›"], ["", "x"], ["sign", "‹U+FFFD›"]]),
        (FAMILY, [["", FAMILY]]),
        ("a\u200d", [["", "a"], ["sign", "‹U+200D›"]]),
        ("<b>$x$", [["", "<b>$x$"]]),
    ],
)
def test_what_shows_nothing_is_shown(text, parts):
    assert written(text) == parts


@pytest.mark.parametrize(
    ("text", "direction"), [("مرحبا", True), ("1 مرحبا a", True), ("a مرحبا", False), ("12", False)]
)
def test_direction_is_that_of_the_first_letter(text, direction):
    assert right_to_left(text) is direction


# ---- the rows ----


def test_a_row_groups_the_parts_of_a_character_and_shows_their_bytes():
    marks = [Mark(0, 5, "‹F0 9F›", "F0 9F", 0, 1, 0, "bytes"), Mark(1, 6, "‹91 A8›", "91 A8", 0, 1, 0, "bytes")]
    payload = row_payload(Row("GPT-2", "👨", marks))

    (stretch,) = payload["stretches"]
    assert stretch["parts"] == [["", "👨"]]
    assert [[piece["bytes"] for piece in group] for group in stretch["groups"]] == [["F0 9F", "91 A8"]]
    assert (payload["count"], payload["ids"], payload["alt"]) == (2, [5, 6], "GPT-2: 2 tokens")


def test_joining_letters_are_marked_without_a_gap():
    payload = row_payload(Row("", "م a", [mark(0, 0, 1), mark(1, 1, 3)]))

    assert [stretch["joined"] for stretch in payload["stretches"]] == [True, False]


@pytest.mark.parametrize("text", ["</s>", "<b>x</b>", "$x$:smile:", "&lt;", "**x**"])
def test_payloads_are_plain_json_with_the_text_as_it_is(text):
    payload = json.loads(json.dumps(row_payload(Row(text, text, [mark(0, 0, len(text), text)]))))

    assert payload["stretches"][0]["parts"] == [["", text]]


def test_captions_count_characters_bytes_and_tokens():
    told = captions(Row("", "né", [mark(0, 0, 2)]))

    assert told["of_text"] == "2 characters, 3 bytes"
    assert told["of_ids"] == "What the model gets: 1 token, each one number, 2.0 characters a token"
    assert captions(Row("", "", []))["of_ids"].endswith("0 tokens, each one number")


# ---- merges ----

THE = WordPicture("The", ["T", "h", "e"], [Join(1, "he", 3), Join(0, "The", 252)], [504], 48_900)


def test_the_player_gets_every_merge_with_its_rank():
    payload = merge_payload(THE)

    assert payload["start"] == ["T", "h", "e"]
    assert [(join["at"], join["label"]) for join in payload["joins"]] == [(1, "he"), (0, "The")]
    assert payload["joins"][0]["when"] == "merge 4 of 48,900: learned early"
    assert payload["ids"] == [504]


def test_bytes_lose_their_brackets_in_the_picture_only():
    picture = WordPicture("é", ["‹C3›", "‹A9›"], [Join(0, "é", 9)], [7], 10)

    assert merge_payload(picture)["start"] == ["C3", "A9"]
    assert merge_table(picture)["left"].tolist() == ["", "‹C3›"]


def test_the_table_replays_the_merges():
    table = merge_table(THE)

    assert table["pieces after it"].tolist() == ["T  h  e", "T  he", "The"]
    assert table["merge number"].tolist() == ["", "4", "253"]


@pytest.mark.parametrize(("rank", "when"), [(0, "early"), (99, "early"), (100, "midway"), (500, "late"), (999, "late")])
def test_when_a_merge_was_learned(rank, when):
    assert learned_when(rank, 1000).endswith(f"learned {when}")


def test_alt_says_how_it_ends():
    assert "2 merges, 1 tokens" in merge_alt(THE)
    assert "no merge fits" in merge_alt(WordPicture("12", ["1", "2"], [], [3, 4], 10))


def test_a_word_too_long_to_draw_is_refused():
    with pytest.raises(ValueError, match="48 pieces"):
        merge_payload(WordPicture("a", ["a"] * (LONGEST_WORD + 1), [], [], 1))


# ---- figures ----


@pytest.mark.parametrize(("chosen", "anchor"), [(0, "left"), (1, "left"), (3, "right")])
def test_the_shrinking_paragraph_is_drawn_from_its_counts(chosen, anchor):
    figure = shrinking_figure([10, 8, 7, 5], chosen, LIGHT)

    assert list(figure.data[0].x) == [0, 1, 2, 3]
    assert list(figure.data[0].y) == [10, 8, 7, 5]
    assert list(figure.data[1].x) == [chosen, chosen]
    assert figure.data[1].y[1] == [10, 8, 7, 5][chosen]
    assert figure.layout.annotations[0].xanchor == anchor


def test_every_price_has_a_sign_in_its_own_lane():
    rows = [("English", "own", 14), ("English", "GPT-2<b>", 14), ("Thai", "own", 71), ("Thai", "GPT-2<b>", 75)]
    figure = price_figure(pd.DataFrame(rows, columns=["sample", "reader", "tokens"]), "tokens", Theme("dark", 1.35))
    own, other = [trace for trace in figure.data if trace.mode == "markers"]

    assert list(own.x) == [14, 71]
    assert list(other.x) == [14, 75]
    assert not set(own.y) & set(other.y)
    assert own.marker.symbol != other.marker.symbol
    assert other.name == "GPT-2&lt;b&gt;"
    assert list(figure.layout.yaxis.ticktext) == ["English", "Thai"]


# ---- the page itself ----


@pytest.mark.default_model
@pytest.mark.parametrize(
    "prompt", ["The capital of France is", FAMILY + " مرحبا", "a\x04b <|im_start|>", "$x$ :smile:"]
)
@pytest.mark.parametrize("specials", ["text", "control"])
def test_the_page_runs(prompt, specials):
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_file("../../app.py", default_timeout=60).switch_page("pages/tokens.py")
    page.query_params["prompt"], page.query_params["specials"] = prompt, specials
    page.run()

    assert not page.exception
    assert [header.value for header in page.header] == [
        "How do letters become tokens?",
        "Where do the merges come from?",
        "Would another model read the same?",
        "What if the text spells a control token?",
    ]
    assert "\ufffd" not in "".join(block.proto.body for block in page.get("html"))


@pytest.mark.default_model
def test_the_code_of_the_page_runs():
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_file("../../app.py", default_timeout=60).switch_page("pages/tokens.py").run()
    (code,) = [block.value for block in page.code]

    assert len(code.splitlines()) <= 10
    exec(compile(code, "the code", "exec"), {})
