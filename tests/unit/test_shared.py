"""Small shared pieces: the palette, escaping, results kept by bytes."""

import threading
import weakref
from dataclasses import dataclass

import plotly.graph_objects as go
import pytest

from pages.shared import prose
from pages.shared.results import SharedResults
from viz import palette
from viz.style import Theme, escaped, shortened, styled, token_axis


@pytest.mark.parametrize("name", palette.TEXT_ROLES)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ground", [palette.BACKGROUND, palette.SURFACE])
def test_every_text_colour_is_legible(name, theme, ground):
    assert palette.contrast(palette.ROLES[name].on(theme), ground.on(theme)) >= 4.5


def test_contrast_of_black_and_white():
    assert palette.contrast("#000000", "#FFFFFF") == pytest.approx(21)


def test_a25_a26_values_in_prose_are_literal():
    text = prose.filled("see {a} and {n:.2f}", a="<b>$x$</b> :smile: **m**", n=0.5)
    assert text == ('see <bdi>&lt;b&gt;$x$&lt;/b&gt; :smile: **m**</bdi> and <span class="number">0.50</span>')


def test_plain_escapes_everything_markdown_reads():
    assert prose.plain("a*b_$c$ :x: [l](u) <i>") == r"a\*b\_\$c\$ \:x\: \[l\]\(u\) \<i\>"


@pytest.mark.parametrize(
    ("case", "label", "drawn"),
    [
        ("A31", "<s>", "&lt;s&gt;"),
        ("A31", "a<br>b", "a&lt;br&gt;b"),
        ("A31", "&lt;", "&amp;lt;"),
        ("A32", "$5", "&#36;5"),
        ("A31", "", "∅"),
    ],
)
def test_labels_for_plotly_are_escaped(case, label, drawn):
    assert escaped(label) == drawn


@pytest.mark.parametrize(
    "labels", [["the", "␣the", "␣the"], ["1", "2", "10"], ["1996", "2020", "12"], ["</s>", "<b>", "$5"]]
)
def test_a28_a29_a32_positions_are_coordinates_and_tokens_are_ticks(labels):
    axis = token_axis(labels, "key")
    assert axis["type"] == "linear" and axis["tickvals"] == [0, 1, 2] and axis["range"] == [-0.5, 2.5]
    assert axis["ticktext"] == [escaped(label) for label in labels]


def test_a_long_axis_names_every_nth_token():
    axis = token_axis([str(place) for place in range(200)], "key", most=50)
    assert len(axis["tickvals"]) == 50 and axis["tickvals"][1] == 4
    assert shortened("x" * 20, 5) == "xxxx…"


def test_figures_take_the_page_behind_them():
    dark = Theme("dark", 1.35)
    layout = styled(go.Figure(), dark, 200).layout
    assert layout.paper_bgcolor == "rgba(0,0,0,0)" and layout.height == 270
    assert layout.font.color == dark.colour("ink")


@dataclass
class Result:
    nbytes: int


def test_results_are_worked_out_once_and_the_oldest_dropped_by_bytes():
    kept, calls = SharedResults(limit=100), []

    def work(name, size):
        return lambda: calls.append(name) or Result(size)

    for name in ("a", "b", "a", "c", "d"):
        kept.get(name, work(name, 40))
    assert calls == ["a", "b", "c", "d"]
    assert kept.nbytes <= 100
    kept.get("a", work("a", 40))
    assert calls[-1] == "a"


def test_one_result_larger_than_the_limit_is_kept_alone():
    kept = SharedResults(limit=100)
    kept.get("small", lambda: Result(10))
    assert kept.get("large", lambda: Result(1000)).nbytes == 1000
    assert kept.nbytes == 1000


def test_many_threads_asking_for_the_same_wait_for_one():
    kept, calls, start = SharedResults(limit=100), [], threading.Barrier(6)

    def ask():
        start.wait()
        kept.get("x", lambda: calls.append(1) or Result(1))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_a_failure_is_not_kept():
    kept = SharedResults(limit=100)
    with pytest.raises(ZeroDivisionError):
        kept.get("x", lambda: 1 / 0)
    assert kept.get("x", lambda: Result(1)).nbytes == 1


def test_what_nobody_asks_for_is_dropped_after_a_while():
    kept, gone = SharedResults(limit=100, idle=0.05), threading.Event()
    result = Result(10)
    weakref.finalize(result, gone.set)
    kept.put("x", result)
    del result
    assert gone.wait(timeout=30)
    assert kept.nbytes == 0 and kept.find("x") is None


def test_clearing_forgets_what_is_finished():
    kept = SharedResults(limit=100)
    kept.put("x", Result(10))
    kept.clear()
    assert kept.find("x") is None and kept.nbytes == 0
