"""viz/draw.py: what goes to the browser, and what comes back from it."""

import base64
import json
import math
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from viz import draw, palette
from viz.components import FOLDER

SIZE = 49_152
UNIFORMS = {seed: seed / 200 for seed in range(200)}
NO_NUMBERS = [
    None,
    "1",
    "<b>",
    [],
    {},
    True,
    math.nan,
    math.inf,
    -math.inf,
    1j,
    b"7",
    pytest.param(object(), id="an object"),
]
NAMES = list(draw.DEFAULTS)


# ---- settings from outside -----------------------------------------------------------------------


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_becomes_the_default(value):
    assert draw.checked_settings(dict.fromkeys(NAMES, value), SIZE) == draw.DEFAULTS


@pytest.mark.parametrize("raw", [None, "settings", 3, [1, 2], [("top_k", 3)], {}, {"other": 1}])
def test_what_is_no_settings_becomes_the_defaults(raw):
    assert draw.checked_settings(raw, SIZE) == draw.DEFAULTS


@pytest.mark.parametrize("number", [10**400, 1e308, np.float32(1e30)])
def test_numbers_out_of_range_go_to_the_nearest_end(number):
    highest = draw.checked_settings(dict.fromkeys(NAMES, number), SIZE)
    assert [highest[name] for name in NAMES] == [2.5, SIZE, 1.0, 0.5, draw.LARGEST_SEED]
    lowest = draw.checked_settings(dict.fromkeys(NAMES, -number), SIZE)
    assert [lowest[name] for name in NAMES] == [0.0, 0, 0.01, 0.0, 0]


def test_settings_within_range_stay_as_they_are():
    settings = {"temperature": 0.73, "top_k": 37, "top_p": 0.95, "min_p": 0.05, "seed": 405}
    assert draw.checked_settings(settings, SIZE) == settings


def test_B02_an_integer_temperature_is_the_same_as_a_float():
    assert draw.checked_settings({"temperature": 2}, SIZE)["temperature"] == 2.0


@pytest.mark.parametrize(("given", "taken"), [(1, 1.0), (1.5, 1.0), (-0.1, 0.01)])
def test_B08_top_p_stays_within_its_range(given, taken):
    assert draw.checked_settings({"top_p": given}, SIZE)["top_p"] == taken


def test_B10_a_negative_top_k_is_off():
    assert draw.checked_settings({"top_k": -1}, SIZE)["top_k"] == 0


# ---- data for the browser ------------------------------------------------------------------------


def test_labels_come_out_as_they_went_in():
    labels = ["·Paris", "<b>$x$</b>", "שלום", "⏎", "", "🙂", "a\nb", "\ud83d"]
    text = base64.b64decode(draw._packed_text(tuple(labels))).decode("utf-8")
    assert text.split("\n") == ["·Paris", "<b>$x$</b>", "שלום", "⏎", "", "🙂", "a⏎b", "?"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ["a"]}, "one label for each token"),
        ({"logits": np.zeros((2, 2))}, "one logit"),
        ({"logits": np.array([0, math.nan])}, "NaN"),
        ({"logits": np.array([-math.inf, -math.inf])}, "nothing can be drawn"),
        ({"seed": 999}, "seed 999"),
        ({"uniforms": [0.5] * 99}, "100 uniform numbers"),
        ({"uniforms": [1.0] * 100}, r"\[0, 1\)"),
    ],
)
def test_data_that_do_not_fit_are_refused_with_a_sentence(change, message):
    given = {"logits": np.zeros(2), "labels": ["a", "b"], "seed": 7, "uniforms": UNIFORMS}
    with pytest.raises(ValueError, match=message):
        draw.draw_strip(settings={}, **given | change)


def test_a_list_of_uniforms_starts_at_the_seed():
    assert draw._uniforms_by_seed([0.1, 0.2], seed=7) == {7: 0.1, 8: 0.2}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_names_on_both_blues_are_legible(theme):
    accent, background, ink = (getattr(palette, role).on(theme) for role in ("ACCENT", "BACKGROUND", "INK"))
    css = (FOLDER / "draw.css").read_text(encoding="utf-8")
    part = int(re.search(r"--thin: color-mix\(in srgb, var\(--accent\) (\d+)%", css)[1]) / 100
    mixed = [round(part * int(accent[i : i + 2], 16) + (1 - part) * int(background[i : i + 2], 16)) for i in (1, 3, 5)]
    assert palette.contrast(accent, background) >= 4.5
    assert palette.contrast("#{:02X}{:02X}{:02X}".format(*mixed), ink) >= 4.5


# ---- who moved last ------------------------------------------------------------------------------

OLD = draw.DEFAULTS
NEW = OLD | {"temperature": 1.5}


@pytest.fixture
def position(monkeypatch):
    """`_position` as at one run of the page: what it asks for, what the browser reported last."""
    state = {}
    monkeypatch.setattr(draw.st, "session_state", state)

    def run(asked: dict, reported: dict | None = None) -> dict:
        state["draw"] = {"settings": reported}
        return draw._position("draw", asked, SIZE)

    return run


def test_the_browsers_own_move_is_not_sent_back(position):
    first = position(OLD)
    assert position(NEW, reported=NEW) == first
    assert position(NEW, reported=NEW) == first


def test_a_page_that_always_asks_for_the_same_moves_nothing(position):
    first = position(OLD)
    assert position(OLD, reported=NEW) == first


def test_a_preset_reaches_the_browser_each_time_it_is_chosen(position):
    first = position(OLD)
    preset = position(NEW)
    assert preset["settings"] == NEW
    assert position(OLD, reported=OLD) == preset  # the hand moved back
    again = position(NEW, reported=OLD)
    assert again["settings"] == NEW
    assert len({first["revision"], preset["revision"], again["revision"]}) == 3


def test_a_preset_equal_to_an_old_report_reaches_the_browser(position):
    position(NEW, reported=NEW)
    position(OLD, reported=NEW)
    assert position(NEW, reported=NEW)["settings"] == NEW


def test_who_comes_back_to_the_page_finds_the_last_settings(position):
    position(OLD)
    position(NEW, reported=NEW)
    assert position(NEW, reported=None)["settings"] == NEW


# ---- in a page -----------------------------------------------------------------------------------


def page():
    import numpy as np

    from viz.draw import draw_strip

    uniforms = {seed: seed / 200 for seed in range(200)}
    logits = np.float32([0.5, -1, 2])
    draw_strip(logits, ["·a", "<b>", "$x$"], {"top_k": 2}, seed=7, uniforms=uniforms)


def test_it_mounts_with_everything_the_browser_needs():
    app = AppTest.from_function(page, default_timeout=30).run()
    assert not app.exception
    data = json.loads(app.get("bidi_component")[0].proto.json)
    logits = np.frombuffer(base64.b64decode(data["logits"]["f32"]), "<f4")
    assert logits.tolist() == [0.5, -1, 2]
    assert base64.b64decode(data["labels"]).decode("utf-8").split("\n") == ["·a", "<b>", "$x$"]
    assert data["settings"] == draw.DEFAULTS | {"top_k": 2, "seed": 7}
    assert dict(zip(data["seeds"], data["uniforms"], strict=True)) == UNIFORMS
