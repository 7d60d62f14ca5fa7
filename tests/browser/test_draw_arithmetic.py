"""The browser's arithmetic of the draw and the model's are the same: order, cuts and token.

The browser side is `viz/components/draw_arithmetic.js`, run in a bare page of a real browser. The
referee is `model.sampling`.
"""

import math

import numpy as np
import pytest
import torch

from model import Settings, draw_at, sampling_stages
from viz.components import FOLDER, packed

OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
PARIS = 7042
LARGEST_U = math.nextafter(1, 0)

#: How far two float64 sums of the same numbers, added up in another order, may lie apart.
ROUNDING = 1e-12

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
      entropy,
    };
  });
  return { ids: Array.from(sorted.ids), results };
}"""


# ---- fixtures ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_browser(browser):
    """The browser's arithmetic: (logits, [{settings, uniforms}]) -> {ids, results}."""
    page = browser.new_page()
    for script in ("common.js", "draw_arithmetic.js"):
        page.add_script_tag(content=(FOLDER / script).read_text(encoding="utf-8"))
    yield lambda logits, cases: page.evaluate(RUN_IN_BROWSER, [packed(logits), cases])
    page.close()


@pytest.fixture(scope="module")
def kept_in_browser(in_browser):
    """The IDs the browser keeps, and the first of their probabilities, for one case."""

    def kept(logits, **settings):
        answer = in_browser(np.float32(logits), [{"settings": OFF | settings, "uniforms": []}])
        result = answer["results"][0]
        return answer["ids"][: result["left"][-1]], result["first"]

    return kept


@pytest.fixture
def real_logits(capital) -> np.ndarray:
    """The default model's logits after "The capital of France is"."""
    return capital.last_logits.numpy()


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
    for case, browser in zip(cases, answer["results"], strict=True):
        stages = sampling_stages(torch.from_numpy(logits), Settings(**case["settings"]))
        assert answer["ids"] == stages.order.tolist()
        assert browser["left"] == [stage.candidates for stage in stages.stages], case
        assert browser["share"] == pytest.approx([stage.kept for stage in stages.stages], rel=ROUNDING), case
        assert browser["first"] == pytest.approx(stages.probabilities[:20].tolist(), rel=ROUNDING), case
        assert browser["entropy"] == pytest.approx(stages.entropy, abs=1e-9), case
        *ranks, last = browser["ranks"]
        assert ranks == [draw_at(stages, u).rank for u in case["uniforms"][:-1]], case
        # The largest number falls among tokens narrower than rounding: any possible one at the very end will do.
        assert stages.probabilities[last] > 0, case
        assert stages.probabilities[: last + 1].sum() >= 1 - ROUNDING, case


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
