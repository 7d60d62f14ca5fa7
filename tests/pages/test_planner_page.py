"""The planner: its numbers, what it refuses, what is pasted, what is answered, and that nothing runs the model."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from model.plan import outcome
from model.report import LONGEST_ANSWER, as_html, as_markdown
from pages.shared import checklist_parts, frame
from pages.shared.frame import PAGES
from pages.shared.store import opened_model
from tests import tiny
from tests.pages.app import button, ended, forward_passes, opened, words
from tests.unit.test_config_reader import GPT_OSS, REAL

pytestmark = pytest.mark.default_model


def test_it_opens_on_a_plan_that_holds():
    page = opened("planner")
    assert not page.exception and not page.warning
    text = words(page)
    assert "It holds: 1 request asked for. 121 typical requests fit at once, and 3 of the longest." in text
    assert "(4 × 80 GB − 141 GB weights − 4 × 4 GB set aside) / 42.9 GB, the cache of 131,072 tokens" in text
    assert "10 of 10 figures" in text
    assert any("40–50 %" in each.label.replace("\\", "") for each in page.expander)


def test_nothing_runs_the_model():
    page = opened("planner")
    with forward_passes(opened_model("smollm2")) as passes:
        page.selectbox(key="widget_shape").set_value("DeepSeek-V3").run()
        page.text_input(key="typed_requests").set_value("64").run()
        page.slider(key="widget_same").set_value(80).run()
        page.segmented_control(key="plan_metric").set_value("all").run()
    assert not page.exception and passes == []
    text = words(page)
    assert "a token uses 37 × 10⁹" in text and "Tokens a second in all against requests at once" in text


def test_a_request_is_a_prompt_and_an_answer():
    """One is changed, the other stays; the view keeps both together, as the memory calculator does."""
    page = opened("planner", typical="1000", answer="200")
    assert page.text_input(key="typed_prompt").value == "800"
    page.text_input(key="typed_answer").set_value("400").run()
    view = page.session_state.view
    assert (view.typical, view.answer) == (1_200, 400) and page.text_input(key="typed_prompt").value == "800"
    page.text_input(key="typed_prompt").set_value("2,000").run()
    assert (view.typical, view.answer) == (2_400, 400)
    assert page.query_params["typical"] in ("2400", ["2400"])


@pytest.mark.parametrize("typed", ["0", "-1", "abc", "", "1e9", "9" * 30])
@pytest.mark.parametrize("name", ["prompt", "longest_answer", "gpus"])
def test_sizes_that_cannot_be_meant_get_a_sentence_and_change_nothing(name, typed):
    page = opened("planner")
    before = page.text_input(key=f"typed_{name}").value
    page.text_input(key=f"typed_{name}").set_value(typed).run()
    assert not page.exception and "must be a whole number from 1" in page.warning[0].value.replace("\\", "")
    assert page.text_input(key=f"typed_{name}").value == before


@pytest.mark.parametrize("shape", ["GPT-2 small", "Gemma-3-27B (text)", "DeepSeek-V3", "Falcon-7B", "open"])
@pytest.mark.parametrize("gpu", ["NVIDIA T4", "Laptop CPU dual-channel DDR4-3200"])
def test_any_shape_on_any_machine(shape, gpu):
    page = opened("planner", shape=shape, gpu=gpu, gpus="1", context="1024", typical="600", requests="8")
    assert not page.exception
    assert "Will it hold" not in words(page) and "hold" in words(page)


@pytest.mark.parametrize(
    "parameters",
    [
        {"gpus": "0", "answer": "-1", "answer_worst": "x", "price": "nan", "same": "200"},
        {"gpus": "1e9", "answer": "99999999", "answer_worst": "99999999", "price": "inf", "rate_low": "0"},
        {"typical": "1", "context": "1", "answer": "1", "answer_worst": "1", "requests": "100000"},
        {"context": "100000000", "typical": "100000000", "answer": "1", "requests": "100000", "gpus": "1024"},
        {"rate_low": "90", "rate_high": "10", "band_low": "100", "band_high": "1", "price": "0"},
        {"price": "0", "overhead": "10000", "shape": "<b>$x$</b>", "gpu": "../x"},
        {"shape": "Phi-3-mini-4k", "context": "100000000", "same": "100", "cache_bits": "2", "weight_bits": "4"},
    ],
)
def test_hostile_addresses_raise_nothing(parameters):
    page = opened("planner", **parameters)
    assert not page.exception, page.exception
    view = page.session_state.view
    assert view.rate_low <= view.rate_high and view.band_low <= view.band_high
    assert 1 <= view.answer < view.typical and 1 <= view.answer_worst < view.context
    for metric in ("first", "out"):
        page.segmented_control(key="plan_metric").set_value(metric).run()
        assert not page.exception


def test_what_does_not_hold_is_said():
    assert "It does not hold: the weights and what is set aside take" in words(opened("planner", gpus="1"))
    assert "It does not hold: 500 are asked for." in words(opened("planner", requests="500"))
    assert "It holds while requests are typical: 32 are asked for." in words(opened("planner", requests="32"))
    assert "at most 4,096 positions" in opened("planner", shape="Llama-2-7B").warning[0].value.replace("\\", "")


@pytest.mark.parametrize("label", ["Llama-2-7B on an A10", "A 70B on 8 H100", "A chatbot with 32 users"])
def test_presets_hold(label):
    page = opened("planner")
    button(page, label).click().run()
    assert not page.exception and not page.warning
    assert "It holds" in words(page)


def paste(page: AppTest, text: str) -> AppTest:
    page.session_state["paste"] = True
    page.run()
    page.text_area(key="pasted_config").set_value(text).run()
    return page


def test_a_pasted_configuration_is_planned_with_and_is_no_part_of_the_link():
    page = paste(opened("planner"), json.dumps(REAL["Qwen2.5-7B"]))
    assert not page.exception and not page.warning
    text = words(page)
    assert "qwen2 (pasted)" in text and "7,615,616,512 parameters" in text
    assert "'sliding_window' 131072 is stated, but no layer uses it" in text.replace("&#x27;", "'")
    assert "qwen2" not in str(dict(page.query_params))
    page.selectbox(key="widget_shape").set_value("Llama-2-7B").run()
    assert "(pasted)" not in words(page) and page.session_state.pasted.text == ""


def test_a_preset_ends_what_was_pasted():
    page = paste(opened("planner"), json.dumps(REAL["Qwen2.5-7B"]))
    button(page, "A 70B on 8 H100").click().run()
    assert "(pasted)" not in words(page) and "Llama-3.1-70B on 8" in words(page)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "This is not JSON"),
        ("[1]", "no object with fields"),
        ('{"n_layer": 12}', "'num_attention_heads' (or n_head, n_heads, num_heads) is missing"),
        (json.dumps(REAL["Llama-3.1-8B"] | {"hidden_size": "<b>$x$</b>"}), "'hidden_size' must be a whole number"),
        ("<script>alert(1)</script>", "This is not JSON"),
    ],
)
def test_a_configuration_that_cannot_be_read_gets_a_sentence_and_the_table_stays(text, says):
    page = paste(opened("planner"), text)
    assert not page.exception
    assert says in page.warning[0].value.replace("\\", "")
    assert "<b>$x$" not in page.warning[0].value
    assert "Llama-3.1-70B on 4" in words(page) and "the plan is for the model chosen above" in words(page)


def test_a_mixture_of_experts_asks_for_its_parameters():
    page = paste(opened("planner"), json.dumps(GPT_OSS))
    assert "a mixture of 32 experts" in page.warning[0].value.replace("\\", "")
    page.number_input(key="pasted_parameters").set_value(20.9).run()
    assert "how many parameters a token uses" in page.warning[0].value
    page.number_input(key="pasted_active").set_value(3.6).run()
    assert not page.warning and not page.exception
    assert "a token uses 3.6 × 10⁹" in words(page) and "as you state" in words(page)


HOSTILE = '<script>alert(1)</script> [x](http://e.example) $y$ | "q" \u202e'


def test_answers_stay_in_the_session_escaped_and_reach_the_report(monkeypatch):
    made = []
    monkeypatch.setattr(checklist_parts, "as_html", lambda report: made.append(report) or as_html(report))
    monkeypatch.setattr(checklist_parts, "as_markdown", lambda report: made.append(report) or as_markdown(report))
    page = opened("planner")
    page.segmented_control(key="answer_0").set_value("no").run()
    page.text_input(key="words_0").set_value(HOSTILE).run()
    assert not page.exception
    report = made[-1]
    assert report.answers[0].choice == "no" and report.answers[0].words == HOSTILE[:-2]
    assert len(report.answers) == 6 and all(each.number for each in report.answers)
    assert any("121" in result for _, _, result in report.results)
    assert any("Assumed" in line for line in report.assumptions) and len(report.inputs) >= 10
    assert "alert(1)" not in str(dict(page.query_params)) and "<script>" not in words(page)
    assert "<script>" not in as_html(report) and "&lt;script&gt;" in as_html(report)
    page.text_input(key="words_1").set_value("x" * LONGEST_ANSWER).run()
    assert len(made[-1].answers[1].words) == LONGEST_ANSWER
    page.selectbox(key="widget_shape").set_value("Llama-3.1-8B").run()
    assert made[-1].answers[0].choice == "no", "answers outlive another plan"


def test_the_check_has_a_right_answer():
    page = opened("planner", requests="64")
    page.radio(key="check_planner").set_value("grows, but less than twice").run()
    assert "**Right.**" in [each.value for each in page.markdown]
    assert "128 requests in place of 64" in words(page)


def test_this_machine_is_predicted_and_timed(monkeypatch):
    """On a tiny model: the measurement is the one of the page on prefill and decode."""
    monkeypatch.setattr(frame, "opened_model", lambda key: tiny.explained("llama, grouped KV heads"))
    page = opened("planner", prompt="the cat sat")
    button(page, "Measure this machine (about half a minute)").click().run()
    text = words(ended(page))
    assert not page.exception
    assert "times what the planner says" in text and "of the bandwidth in its decodes" in text
    page.switch_page(PAGES["decode"].file)
    page.run()
    assert "From " in words(page) and "this machine's arithmetic is the limit" in words(page).replace("&#x27;", "'")


def test_the_code_is_short_and_runs():
    page = opened("planner")
    lines = page.code[-1].value
    assert len(lines.splitlines()) <= 12
    scope: dict = {}
    exec(lines, scope)
    assert scope["found"] == outcome(scope["plan"])
