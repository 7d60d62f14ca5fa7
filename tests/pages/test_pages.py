"""Every page run by itself, as a cold deep link does, on ordinary and on hostile text."""

import urllib.parse

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import store
from pages.shared.frame import PAGES
from pages.shared.state import View
from tests.pages.app import button, opened

pytestmark = pytest.mark.default_model

HOSTILE = {
    "A01 emoji family": "👨‍👩‍👧‍👦",
    "A05 right to left": "مرحبا بالعالم",
    "A10 tabs and newlines": "def f(x):\n\treturn x\n",
    "A13 a lost control character": "a\x04b",
    "A16 a control token as text": "<|im_start|> hi",
    "A25 mathematics": "cost $x and y$ end",
    "A26 markdown and emoji codes": ":smile: :red[x] :material/home: **b** [l](http://x) <-",
    "A28 A34 repeated tokens": "the the the",
    "A29 numbers and dates": "1 2 10 1996 2020-01-02",
    "A31 tags": "</s> <b>x</b> a<br>b &lt;",
    "combining marks": "e\u0301\u0301\u0301 Z\u0300\u0301\u0302",
}
#: All of them at once, and two that only count alone.
TEXTS = {"all kinds": "\n".join(HOSTILE.values()), "A20 a thousand letters": "a" * 1000, "one token": "a"}


@pytest.mark.parametrize("slug", PAGES)
def test_a_page_opens_cold_and_is_whole(slug):
    page = opened(slug)
    assert not page.exception and not page.warning and not page.error
    assert page.title[0].value == PAGES[slug].question
    assert "Where it stops being true" in [heading.value for heading in page.subheader]
    assert page.get("bidi_component"), "the token strip is missing"


@pytest.mark.parametrize("case", TEXTS)
@pytest.mark.parametrize("slug", PAGES)
def test_hostile_text_raises_nothing(slug, case):
    page = opened(slug, prompt=TEXTS[case])
    assert not page.exception, page.exception
    for element in (*page.markdown, *page.caption, *page.warning):
        assert not any(text in element.value for text in HOSTILE.values()), "user text in markdown"


def test_a_widget_begins_with_the_value_of_the_address_at_every_run():
    """Streamlit drops what a run has not yet sent when the next begins: giving a value once is not enough."""
    page = opened("attention", layer="5", head="2", prompt="one two three").run()
    layer, head = (
        next(each for each in page.number_input if each.label.startswith(name)) for name in ("Layer", "Head")
    )
    assert (layer.proto.default, head.proto.default) == (5, 2)
    assert not layer.proto.set_value, "given again, it would take back what is being typed"
    assert page.text_area[0].proto.default == "one two three"
    assert page.selectbox[0].proto.default == 0


@pytest.mark.parametrize(
    "slug, work",
    [("home", "Choice"), ("sampling", "nucleus_sizes"), ("layers", "promotions"), ("context", "telling_head")],
)
def test_what_is_known_is_not_worked_out_again_by_a_rerun(slug, work, monkeypatch):
    page, really, calls = opened(slug), getattr(store, work), []
    monkeypatch.setattr(store, work, lambda *given: calls.append(given) or really(*given))
    page.run()
    assert not page.exception and not calls
    store.results().clear()
    page.run()
    assert not page.exception and calls, "what nobody holds any more is worked out anew"


@pytest.mark.parametrize("slug", PAGES)
def test_a14_a_lone_surrogate_is_replaced_and_said(slug):
    """No address can carry one, so it is put where a text box would leave it."""
    page = AppTest.from_file("../../app.py", default_timeout=120)
    if slug != "home":
        page.switch_page(PAGES[slug].file)
    page.session_state.view = View(prompt="\ud83d x")
    page.run()
    assert not page.exception
    assert page.session_state.view.prompt == "\ufffd x"
    assert any("lone surrogates" in element.proto.body for element in page.get("html"))


@pytest.mark.parametrize("slug", PAGES)
@pytest.mark.parametrize("text", ["", "   \n "])
def test_a19_no_text_gets_a_sentence(slug, text):
    page = opened(slug, prompt=text)
    assert not page.exception
    assert "Type a few words" in page.warning[0].value


@pytest.mark.parametrize("slug", PAGES)
def test_a20_too_much_text_is_counted_and_refused(slug):
    page = opened(slug, prompt="a" * 100_000)
    assert not page.exception
    assert "25,000 tokens" in page.warning[0].value.replace("\\", "")
    assert page.text_area[0].value == "a" * 100_000, "the text is kept, to be shortened"


@pytest.mark.parametrize("slug", PAGES)
@pytest.mark.parametrize(
    "parameters",
    [
        {"layer": "999", "head": "-5", "position": "77", "key": "99", "step": "-9", "kv_head": "99", "shape": "<x>"}
        | {"context": "0", "typical": "-3", "requests": "1e9", "cache_bits": "3", "weight_bits": "x", "gpu": "../x"},
        {
            "layer": "x",
            "t": "nan",
            "top_p": "0",
            "top_k": "1e9",
            "seed": "-1",
            "min_p": "inf",
            "step": "77",
            "overhead": "inf",
        },
        {"model": "../../etc/passwd", "written": "1.2~~3.x", "branch": "7"},
        {"model": "<script>alert(1)</script>", "classroom": "9"},
        {"t": "0", "written": "7042.30.198", "position": "6"},
        {"written": "2"},
        {"written": "0.2.7042.0~1.1.1", "branch": "1"},
    ],
)
def test_hostile_addresses_raise_nothing(slug, parameters):
    page = opened(slug, **parameters)
    assert not page.exception, page.exception
    assert page.title[0].value == PAGES[slug].question


@pytest.mark.parametrize("slug", PAGES)
def test_an_absent_model_leaves_the_one_that_was_open(slug):
    page = opened(slug, model="gpt2")
    assert not page.exception
    assert "is not on this machine" in page.warning[0].value.replace("\\", "")
    assert page.selectbox(key="widget_model").value == "smollm2"


def test_what_was_typed_runs_and_reaches_the_address():
    page = opened("attention")
    page.text_area(key="prompt_box").set_value("The cat sat")
    button(page, "Run").click().run()
    assert page.session_state.view.prompt == "The cat sat"
    assert page.query_params["prompt"] in ("The cat sat", ["The cat sat"])


def test_every_expander_opens_without_raising():
    for slug in PAGES:
        page = opened(slug)
        for expander in page.expander:
            key = getattr(expander, "key", None)
            if key:
                page.session_state[key] = True
        assert not page.run().exception, slug


def test_f01_five_hundred_tokens_have_their_overview():
    page = opened("attention", prompt=" the" * 500)
    assert not page.exception and not page.warning
    assert any("largest weight among" in element.proto.body for element in page.get("html"))


def test_next_token_appends_what_was_drawn_and_another_may_be_taken():
    page = opened("home", t="0")
    button(page, "Next token").click().run()
    assert page.session_state.view.written == ((7042,),)
    button(page, "Next token").click().run()
    assert len(page.session_state.view.continuation) == 2
    page.session_state.view.position = 4
    page.run()
    page.selectbox(key="take_instead").set_value(260).run()
    button(page, "Start a branch").click().run()
    assert not page.exception
    view = page.session_state.view
    assert view.written[0][0] == 7042 and view.written[1] == (260,) and view.branch == 1


def test_run_on_writes_until_it_stops_and_says_why():
    page = opened("home", t="0", prompt="Say hi.")
    button(page, "Run on").click().run()
    assert not page.exception
    view = page.session_state.view
    assert len(view.continuation) == 48 or view.continuation[-1] == 2
    assert any("Writing stopped" in element.proto.body for element in page.get("html"))


def test_g04_reruns_open_the_model_once():
    from pages.shared.store import opened_model

    page = opened("attention")
    first = opened_model("smollm2")
    for _ in range(3):
        page.run()
    assert opened_model("smollm2") is first


def test_addresses_survive_quoting():
    """What is written for a link is what is read from it."""
    text = "a&b=c d+e%20é\n#?"
    parsed = urllib.parse.parse_qs(urllib.parse.urlencode({"prompt": text}))
    page = opened("tokens", prompt=parsed["prompt"][0])
    assert page.session_state.view.prompt == text
