"""What the home page's picture sends to the browser, says, and tabulates."""

import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from viz import loop
from viz.components import FOLDER

POSITIONS, SHOWN, HEAD_SIZE = 3, 4, 2
NASTY_LABELS = ["<b>x</b>", "$y$", "·مرحبا"]


@pytest.fixture
def picture() -> loop.LoopPicture:
    """Three positions of a run of five, with numbers that are easy to recognise."""

    def rows(columns: int, start: float = 0.0) -> np.ndarray:
        count = POSITIONS * columns
        return np.arange(start, start + count, dtype=np.float32).reshape(POSITIONS, columns)

    nan = np.nan
    return loop.LoopPicture(
        labels=NASTY_LABELS,
        ids=[7, 8, 9],
        first_position=2,
        positions_total=5,
        selected=4,
        embedding=rows(SHOWN),
        layer=1,
        layers=6,
        head=3,
        heads=4,
        kv_head=1,
        query=rows(HEAD_SIZE, 10),
        key=rows(HEAD_SIZE, 20),
        value=rows(HEAD_SIZE, 30),
        attention=np.array([[1, nan, nan], [0.25, 0.75, nan], [0.1, 0.6, 0.3]], np.float32),
        mix=rows(HEAD_SIZE, 40),
        attention_added=rows(SHOWN, 50),
        feed_forward_added=rows(SHOWN, 60),
        stream_in=rows(SHOWN, 70),
        stream_out=rows(SHOWN, 80),
        hidden_size=16,
        head_size=HEAD_SIZE,
        lens=[loop.Guess(0, "·a", 0.2), loop.Guess(5, "·Paris", 0.5)],
        candidates=[loop.Candidate("·Paris", 42, np.float32(0.5)), loop.Candidate("·x", 43, 0.25)],
        rest_count=49_150,
        rest_probability=0.25,
        drawn=loop.Drawn("·x", 43, 0.25, 0.625, 7),
        origin=("a model",),
    )


def unpacked(sent: dict) -> np.ndarray:
    raw = np.frombuffer(base64.b64decode(sent["f32"]), dtype="<f4")
    return raw.reshape(sent["shape"])


def test_every_drawn_array_arrives_unchanged(picture):
    payload = loop.loop_payload(picture)
    for name in (*loop.STRIPS, "attention"):
        np.testing.assert_array_equal(unpacked(payload[name]), getattr(picture, name))


def test_masked_weights_are_sent_as_nan_and_not_as_zero(picture):
    attention = unpacked(loop.loop_payload(picture)["attention"])
    np.testing.assert_array_equal(np.isnan(attention), np.triu(np.ones((3, 3), bool), 1))


def test_payload_is_strict_json_even_with_numpy_scalars(picture):
    sent = json.loads(json.dumps(loop.loop_payload(picture), allow_nan=False))
    assert sent["candidates"][0] == {"label": "·Paris", "id": 42, "probability": 0.5}
    assert sent["lens"][-1] == {"layer": 5, "label": "·Paris", "probability": 0.5}
    assert sent["drawn"]["uniform"] == 0.625


def test_labels_are_sent_literally(picture):
    assert loop.loop_payload(picture)["labels"] == NASTY_LABELS


def test_script_inserts_no_markup_and_loads_nothing():
    script = (FOLDER / "loop.js").read_text(encoding="utf-8")
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "fetch(", "import(", "http"):
        assert way not in script


def test_scale_leaves_out_only_the_largest_values():
    values = np.concatenate([np.full(99, -2.0), [1000.0]])
    assert loop.saturation(values) == 2.0


def test_scale_of_nothing_is_zero():
    assert loop.saturation(np.full((2, 2), np.nan)) == 0.0


def test_nothing_drawn_is_sent_as_nothing(picture):
    assert loop.loop_payload(replace(picture, drawn=None))["drawn"] is None


def test_window_names_the_positions_shown(picture):
    assert loop.window(picture) == "positions 2–4 of 5"
    whole = replace(picture, first_position=0, positions_total=3, selected=2)
    assert loop.window(whole) == "all 3 positions"
    assert loop.window(replace(picture, labels=["a"], positions_total=1)) == "the only position"


def test_alt_text_reads_the_selected_row(picture):
    alt = loop.loop_alt(picture)
    assert alt == loop.loop_payload(picture)["alt"]
    assert "layer 1, head 3" in alt
    assert "looks most at “$y$”, position 3, with weight 60%" in alt
    assert "“·Paris”, 50.0%" in alt
    assert alt.endswith("Drawn: “·x”.")


def test_alt_text_ignores_masked_keys(picture):
    assert "looks most at “<b>x</b>”, position 2" in loop.loop_alt(replace(picture, selected=2))


def test_alt_text_tells_taking_the_likeliest_from_drawing(picture):
    assert loop.loop_alt(replace(picture, greedy=True)).endswith("Taken: “·x”.")
    assert "Drawn" not in loop.loop_alt(replace(picture, drawn=None))


def table(picture: loop.LoopPicture, start: str):
    return next(frame for title, frame in loop.loop_table(picture).items() if title.startswith(start))


@pytest.mark.parametrize(
    ("start", "name"),
    [
        ("Embeddings", "embedding"),
        ("Query", "query"),
        ("Key", "key"),
        ("Value", "value"),
        ("Attention weights", "attention"),
        ("Mix", "mix"),
        ("Residual stream before", "stream_in"),
        ("Added by attention", "attention_added"),
        ("Added by feed-forward", "feed_forward_added"),
        ("Residual stream after", "stream_out"),
    ],
)
def test_tables_hold_the_same_values_by_position(picture, start, name):
    frame = table(picture, start)
    assert list(frame.index) == [2, 3, 4]
    assert list(frame["token"]) == NASTY_LABELS
    np.testing.assert_array_equal(frame.drop(columns="token").to_numpy(), getattr(picture, name))


def test_candidate_table_covers_the_whole_vocabulary(picture):
    frame = table(picture, "Next token")
    assert list(frame["token"]) == ["·Paris", "·x", "49,150 more tokens"]
    assert frame["probability"].sum() == pytest.approx(1.0)


def test_draw_table_shows_the_random_number_only_if_one_was_used(picture):
    assert table(picture, "The draw")["random number"].item() == 0.625
    assert "random number" not in table(replace(picture, greedy=True), "The draw")
    assert "The draw" not in loop.loop_table(replace(picture, drawn=None))


def test_titles_name_layer_head_and_position(picture):
    titles = set(loop.loop_table(picture))
    assert "Query, layer 1, head 3" in titles
    assert "Key, layer 1, KV head 1" in titles
    assert "Embeddings, first 4 of 16 values" in titles
    assert "Next token after position 4" in titles


def test_listeners_hear_the_value_that_was_chosen(picture, monkeypatch):
    mounted = {}
    monkeypatch.setattr(loop, "component", lambda name: lambda **given: mounted.update(given))
    state = {"home": {"selected": 3, "layer": 2, "head": 0, "open": "tokens"}}
    monkeypatch.setattr(loop, "reported", lambda key, event: state[key][event])
    heard = []
    loop.draw_loop(picture, "home", *[heard.append] * 4)
    for name in state["home"]:
        mounted[f"on_{name}_change"]()
    assert heard == [3, 2, 0, "tokens"]
    assert mounted["data"] == loop.loop_payload(picture)
