"""The browser's arithmetic of the draw and Python's are the same to the token.

The browser side is `viz/components/draw_arithmetic.js`, run in a bare headless page. The Python
side is the twin below, numpy in float64.
"""

import math
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from viz.components import FOLDER, packed

CHROMIUM = Path("/usr/bin/chromium")
MODEL_FOLDER = Path(os.environ.get("EXPLAINER_MODEL_FOLDER", "/tmp/w/smol"))
OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
PARIS = 7042
LARGEST_U = math.nextafter(1, 0)

pytestmark = pytest.mark.browser

RUN_IN_BROWSER = """([packedLogits, cases]) => {
  const sorted = sortedByLogit(unpacked(packedLogits).data);
  const results = cases.map(({ settings, uniforms }) => {
    const stages = stagesOf(sorted, settings);
    const { kept, total, entropy } = stages;
    return {
      left: stages.stages.map((stage) => stage.left),
      share: stages.stages.map((stage) => stage.share),
      first: Array.from(stages.weights.slice(0, Math.min(kept, 20)), (weight) => weight / total),
      ranks: uniforms.map((u) => drawAt(stages, u)),
      total,
      entropy,
    };
  });
  return { ids: Array.from(sorted.ids), results };
}"""


# ---- the twin ------------------------------------------------------------------------------------


def python_stages(logits: np.ndarray, settings: dict) -> dict:
    """What `stagesOf` returns, over the same order."""
    ordered = logits[order_of(logits)].astype(np.float64)
    weights = weights_of(ordered, settings["temperature"])
    running = np.cumsum(weights)  # one after the other; np.sum would add in pairs
    left = [1 if settings["temperature"] == 0 else len(ordered)]
    left.append(after_top_k(ordered, left[-1], settings["top_k"]))
    left.append(after_top_p(running, left[-1], settings["top_p"]))
    left.append(int(np.sum(weights[: left[-1]] >= settings["min_p"] * weights[0])))
    total = running[left[-1] - 1]
    probabilities = weights[: left[-1]] / total
    possible = probabilities[probabilities > 0]
    return {
        "left": left,
        "share": [running[m - 1] / running[n - 1] for n, m in pairwise([len(ordered), *left])],
        "first": probabilities[:20],
        "cumulative": running[: left[-1]] / total,
        "total": total,
        "entropy": float(-np.sum(possible * np.log2(possible))),
    }


def order_of(logits: np.ndarray) -> np.ndarray:
    return np.lexsort((np.arange(len(logits)), -logits.astype(np.float64)))


def weights_of(ordered: np.ndarray, temperature: float) -> np.ndarray:
    if temperature == 0:
        return np.eye(1, len(ordered))[0]
    z = ordered / temperature
    return np.exp(z - z[0])


def after_top_k(ordered: np.ndarray, left: int, k: int) -> int:
    return left if k == 0 or k >= left else int(np.sum(ordered[:left] >= ordered[k - 1]))


def after_top_p(running: np.ndarray, left: int, p: float) -> int:
    if p >= 1:
        return left
    return 1 + int(np.argmax(running[:left] / running[left - 1] >= p - 1e-7))


def python_draw(stages: dict, u: float) -> int:
    passed = stages["cumulative"] > u
    return int(np.argmax(passed)) if passed.any() else len(passed) - 1


# ---- fixtures ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_browser():
    """The browser's arithmetic: (logits, [{settings, uniforms}]) -> {ids, results}."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is missing: the browser's arithmetic cannot be run")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        page = browser.new_page()
        for script in ("common.js", "draw_arithmetic.js"):
            page.add_script_tag(content=(FOLDER / script).read_text(encoding="utf-8"))
        yield lambda logits, cases: page.evaluate(RUN_IN_BROWSER, [packed(logits), cases])
        browser.close()


@pytest.fixture(scope="module")
def kept_in_browser(in_browser):
    """The IDs the browser keeps, and the first of their probabilities, for one case."""

    def kept(logits, **settings):
        answer = in_browser(np.float32(logits), [{"settings": OFF | settings, "uniforms": []}])
        result = answer["results"][0]
        return answer["ids"][: result["left"][-1]], result["first"]

    return kept


@pytest.fixture(scope="module")
def real_logits() -> np.ndarray:
    """The default model's logits after "The capital of France is"."""
    if not MODEL_FOLDER.exists():
        pytest.skip(f"the default model is not in {MODEL_FOLDER}: set EXPLAINER_MODEL_FOLDER")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL_FOLDER)
    model = AutoModelForCausalLM.from_pretrained(MODEL_FOLDER)
    ids = tokenizer("The capital of France is", return_tensors="pt").input_ids
    with torch.no_grad():
        return model(ids).logits[0, -1].numpy().astype(np.float32)


# ---- both are equal ------------------------------------------------------------------------------


def random_cases(seed: int, size: int, number: int) -> list[dict]:
    """Settings as the sliders can set them; each cut is off in about half of the cases."""
    generator = np.random.default_rng(seed)

    def settings() -> dict:
        greedy, *on = generator.random(4) < [0.05, 0.5, 0.5, 0.5]
        return {
            "temperature": 0.0 if greedy else round(generator.uniform(0.01, 2.5), 2),
            "top_k": int(np.exp(generator.uniform(0, np.log(size + 1)))) if on[0] else 0,
            "top_p": round(generator.uniform(0.01, 1), 2) if on[1] else 1.0,
            "min_p": round(generator.uniform(0, 0.5), 2) if on[2] else 0.0,
        }

    def uniforms() -> list[float]:
        return [0.0, *generator.random(8).tolist(), LARGEST_U]

    return [{"settings": settings(), "uniforms": uniforms()} for _ in range(number)]


def assert_equal(in_browser, logits: np.ndarray, cases: list[dict]) -> None:
    answer = in_browser(logits, cases)
    assert answer["ids"] == order_of(logits).tolist()
    for case, browser in zip(cases, answer["results"], strict=True):
        python = python_stages(logits, case["settings"])
        assert browser["left"] == python["left"], case
        assert browser["ranks"] == [python_draw(python, u) for u in case["uniforms"]], case
        for name in ("share", "first", "total"):
            np.testing.assert_allclose(browser[name], python[name], rtol=1e-12, err_msg=str(case))
        assert browser["entropy"] == pytest.approx(python["entropy"], abs=1e-9), case


@pytest.mark.default_model
def test_equal_on_real_logits(in_browser, real_logits):
    assert_equal(in_browser, real_logits, random_cases(0, len(real_logits), 300))


ADVERSARIAL = {
    "ties": np.random.default_rng(1).permutation(np.repeat([3.0, 2.0, 1.0, 0.0], 50)),
    "huge range": np.linspace(-3e38, 3e38, 1001),
    "all equal": np.full(4096, 1.5),
    "one token": np.array([-7.0]),
    "two tokens": np.array([0.0, 1e-6]),
    "impossible tokens": np.where(np.arange(500) % 3, -np.inf, np.arange(500) / 50),
    "one possible token": np.array([-np.inf, -np.inf, 2.0, -np.inf]),
    "nearly flat": np.random.default_rng(2).normal(0, 1e-4, 50_257),
    "both zeros": np.array([0.0, -0.0, 0.0, -0.0]),
}


@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_equal_on_adversarial_logits(in_browser, kind):
    logits = ADVERSARIAL[kind].astype(np.float32)
    assert_equal(in_browser, logits, random_cases(3, len(logits), 60))


def test_an_impossible_token_is_never_drawn(in_browser):
    case = {"settings": OFF, "uniforms": [0.0, 0.5, LARGEST_U]}
    answer = in_browser(np.float32([-np.inf, 1, -np.inf, 1]), [case])
    assert [answer["ids"][rank] for rank in answer["results"][0]["ranks"]] == [1, 3, 3]


# ---- published cases, by their number in cases.csv -----------------------------------------------


@pytest.mark.default_model
def test_B01_temperature_0_is_greedy(in_browser, real_logits):
    case = {"settings": OFF | {"temperature": 0}, "uniforms": [0.0, LARGEST_U]}
    answer = in_browser(real_logits, [case])
    assert answer["ids"][0] == PARIS
    assert answer["results"][0]["first"] == [1]
    assert answer["results"][0]["ranks"] == [0, 0]


@pytest.mark.default_model
def test_B02_temperature_may_be_an_integer(in_browser, real_logits):
    cases = [{"settings": OFF | {"temperature": t}, "uniforms": [0.842]} for t in (2, 2.0, 1, 1.0)]
    two, two_as_float, one, one_as_float = in_browser(real_logits, cases)["results"]
    assert two == two_as_float
    assert one == one_as_float


@pytest.mark.parametrize(
    ("probabilities", "p", "kept"),
    [
        ([0.5, 0.41, 0.09], 0.9, [0, 1]),
        ([0.5, 0.3, 0.15, 0.05], 0.6, [0, 1]),
        ([0.5, 0.3, 0.15, 0.05], 0.85, [0, 1, 2]),
        ([0.4, 0.3, 0.2, 0.1], 0.8, [0, 1, 2]),
    ],
)
def test_B04_top_p_keeps_the_token_that_crosses(kept_in_browser, probabilities, p, kept):
    assert kept_in_browser(np.log(probabilities), top_p=p)[0] == kept


@pytest.mark.parametrize(("p", "kept"), [(0.8, [0, 1]), (0.5, [0])])
def test_B05_top_p_may_be_met_exactly(kept_in_browser, p, kept):
    assert kept_in_browser(np.log([0.5, 0.3, 0.2]), top_p=p)[0] == kept


def test_top_p_forgives_one_float32_rounding(kept_in_browser):
    logits = np.log([0.4, 0.3, 0.2, 0.1])  # as float32, the first comes to .4 - 2e-9
    assert kept_in_browser(logits, top_p=0.4)[0] == [0]


@pytest.mark.default_model
def test_B07_a_tiny_top_p_keeps_the_likeliest(kept_in_browser, real_logits):
    assert kept_in_browser(real_logits, top_p=1e-8)[0] == [PARIS]


@pytest.mark.default_model
@pytest.mark.parametrize("p", [1.0, 1])
def test_B08_top_p_1_removes_nothing(kept_in_browser, real_logits, p):
    assert len(kept_in_browser(real_logits, top_p=p)[0]) == 49_152


@pytest.mark.default_model
def test_B10_top_k_0_is_off(kept_in_browser, real_logits):
    assert len(kept_in_browser(real_logits, top_k=0)[0]) == 49_152


def test_B11_tokens_level_with_the_kth_stay(kept_in_browser):
    kept, probabilities = kept_in_browser([1, 1, 1, 0], top_k=2)
    assert kept == [0, 1, 2]
    assert probabilities == pytest.approx([1 / 3] * 3)


def test_B13_temperature_acts_before_top_p(kept_in_browser):
    assert kept_in_browser([3, 2, 1], temperature=0.5)[1][0] == pytest.approx(0.8668, abs=5e-5)
    assert kept_in_browser([3, 2, 1], temperature=0.5, top_p=0.8)[0] == [0]


def test_B14_top_p_reads_what_top_k_left_renormalised(in_browser):
    case = {"settings": OFF | {"top_k": 2, "top_p": 0.5}, "uniforms": []}
    result = in_browser(np.float32(np.log([0.4, 0.3, 0.2, 0.1])), [case])["results"][0]
    assert result["left"] == [4, 2, 1, 1]
    assert result["share"][2] == pytest.approx(0.571, abs=5e-4)


@pytest.mark.default_model
@pytest.mark.parametrize(("temperature", "paris", "nucleus"), [(0.5, 0.9919, 1), (1, 0.7725, 10), (2, 0.0522, 13_307)])
def test_B22_the_default_model(kept_in_browser, real_logits, temperature, paris, nucleus):
    _, probabilities = kept_in_browser(real_logits, temperature=temperature)
    assert probabilities[0] == pytest.approx(paris, abs=5e-5)
    kept, _ = kept_in_browser(real_logits, temperature=temperature, top_p=0.9)
    assert len(kept) == nucleus
