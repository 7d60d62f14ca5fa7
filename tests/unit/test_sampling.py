"""Sampling: the kinds of public bug reports, and each stage against transformers' own processors."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from model import SettingRefused, Settings, draw, draw_at, nucleus_size, sampling_stages, uniforms
from model.sampling import ROUNDING, penalised, uniform_at

#: How far a token's cumulative probability may lie from top-p, or its ratio from min-p, for
#: float64 here and float32 in transformers to disagree on it: rounding of sums over a vocabulary.
BORDER = 2e-6


def of(probabilities: list[float]) -> torch.Tensor:
    return torch.tensor(probabilities).log()


def kept(logits: torch.Tensor, **asked) -> list[int]:
    stages = sampling_stages(logits, Settings(**asked))
    return sorted(stages.order[: stages.candidates].tolist())


TOP_P = [
    ("B04", [0.5, 0.41, 0.09], 0.9, [0, 1]),
    ("B04", [0.5, 0.3, 0.15, 0.05], 0.6, [0, 1]),
    ("B04", [0.5, 0.3, 0.15, 0.05], 0.85, [0, 1, 2]),
    ("B04", [0.4, 0.3, 0.2, 0.1], 0.8, [0, 1, 2]),
    ("B05", [0.5, 0.3, 0.2], 0.8, [0, 1]),
    ("B05", [0.5, 0.3, 0.2], 0.5, [0]),
]


@pytest.mark.parametrize(("case", "probabilities", "p", "expected"), TOP_P)
def test_top_p_keeps_the_fewest_that_reach_it(case, probabilities, p, expected):
    stages = sampling_stages(of(probabilities), Settings(top_p=p))
    assert kept(of(probabilities), top_p=p) == expected, case
    assert stages.stages[2].remaining >= p - ROUNDING


def test_b02_a_whole_number_is_a_temperature():
    whole = sampling_stages(of([0.5, 0.3, 0.2]), Settings(temperature=2)).probabilities
    assert torch.equal(whole, sampling_stages(of([0.5, 0.3, 0.2]), Settings(temperature=2.0)).probabilities)


def test_b07_a_tiny_top_p_keeps_the_likeliest():
    logits = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    assert kept(logits, top_p=1e-8) == [int(logits.argmax())]


@pytest.mark.parametrize("off", [1.0, 1])
def test_b08_top_p_of_one_removes_nothing(off):
    assert len(kept(torch.zeros(49_152), top_p=off)) == 49_152


@pytest.mark.parametrize(
    "wrong",
    [
        {"top_p": 1.5},
        {"top_p": -0.1},
        {"top_p": 0.0},
        {"top_k": -1},
        {"min_p": 2.0},
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"repetition_penalty": 0.0},
    ],
)
def test_b08_b10_settings_out_of_range_are_refused_with_a_sentence(wrong):
    with pytest.raises(SettingRefused, match=r"^[A-Z].*\.$"):
        Settings(**wrong)


def test_b10_top_k_of_zero_is_off():
    assert len(kept(torch.randn(100), top_k=0)) == 100


def test_b11_ties_at_the_kth_are_kept_and_renormalised():
    stages = sampling_stages(torch.tensor([1.0, 1.0, 1.0, 0.0]), Settings(top_k=2))
    assert stages.candidates == 3
    assert stages.probabilities.tolist() == pytest.approx([1 / 3] * 3)


def test_b13_the_temperature_comes_first():
    stages = sampling_stages(torch.tensor([3.0, 2.0, 1.0]), Settings(temperature=0.5, top_p=0.8))
    assert stages.candidates == 1
    assert float(stages.stages[0].probabilities[0]) == pytest.approx(0.8668, abs=1e-4)


def test_b14_top_p_sees_what_top_k_left_renormalised():
    stages = sampling_stages(of([0.4, 0.3, 0.2, 0.1]), Settings(top_k=2, top_p=0.5))
    assert stages.candidates == 1
    assert float(stages.stages[1].probabilities[0]) == pytest.approx(0.571, abs=1e-3)


@pytest.mark.parametrize(("case", "seen"), [("B16", [0, 1]), ("B17", [0, 1, 0, 0])])
def test_the_repetition_penalty_acts_once_for_each_token(case, seen):
    logits = torch.tensor([2.0, -2.0, 1.0])
    ours = penalised(logits, seen, 1.5)
    assert ours.tolist() == pytest.approx([1.3333, -3.0, 1.0], abs=1e-4), case
    theirs = RepetitionPenaltyLogitsProcessor(1.5)(torch.tensor([seen]), logits[None].clone())[0]
    assert torch.equal(ours, theirs)
    assert penalised(logits, seen, 1.0) is logits


def test_b20_the_draw_disturbs_no_other_generator_and_repeats():
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    stages = sampling_stages(of([0.5, 0.3, 0.2]), Settings(seed=5))
    first = draw(stages)
    assert torch.equal(before, torch.random.get_rng_state())
    assert draw(stages) == first and first.uniform == uniform_at(5, 0)
    assert torch.equal(uniforms(5, 3)[:2], uniforms(5, 2))


def test_ties_are_ordered_by_the_smaller_id():
    assert sampling_stages(torch.tensor([0.0, 2.0, 2.0, 1.0])).order.tolist() == [1, 2, 3, 0]


def test_the_draw_falls_on_its_stretch_and_never_on_an_impossible_token():
    stages = sampling_stages(torch.tensor([1.0, 0.0, -torch.inf, -torch.inf]), Settings())
    assert draw_at(stages, 0.0).id == 0
    assert draw_at(stages, math.nextafter(1.0, 0.0)).id == 1
    for uniform in uniforms(0, 200).tolist():
        drawn = draw_at(stages, uniform)
        assert drawn.start <= uniform < drawn.end


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([3, 50, 5_000]),
    st.floats(0.05, 2.5),
    st.integers(0, 60),
    st.floats(0.01, 1.0),
    st.floats(0.0, 0.5),
)
def test_every_stage_equals_transformers_own_processor(seed, size, temperature, top_k, top_p, min_p):
    logits = 4 * torch.randn(size, generator=torch.Generator().manual_seed(seed))
    stages = sampling_stages(logits, Settings(temperature, top_k, top_p, min_p))
    scores = TemperatureLogitsWarper(temperature)(None, logits[None])
    processors = [
        None,
        TopKLogitsWarper(top_k) if top_k else None,
        TopPLogitsWarper(top_p) if top_p < 1 else None,
        MinPLogitsWarper(min_p) if min_p else None,
    ]
    for stage, processor in zip(stages.stages, processors, strict=True):
        before = scores
        scores = scores if processor is None else processor(None, scores)
        theirs = scores[0].softmax(-1)
        ours = torch.zeros(size, dtype=torch.float64)
        ours[stages.order[: stage.candidates]] = stage.probabilities
        left = torch.zeros(size, dtype=torch.bool)
        left[stages.order[: stage.candidates]] = True
        differ = (left != (scores[0] > -torch.inf)).nonzero().flatten()
        if len(differ) and _on_the_border(before[0], differ, stage.name, top_p, min_p):
            return  # what follows starts from another set
        assert len(differ) == 0
        assert torch.allclose(ours.float(), theirs, atol=1e-6)


def _on_the_border(scores: torch.Tensor, differ: torch.Tensor, name: str, top_p: float, min_p: float) -> bool:
    """Whether float32 and float64 may rightly disagree on these tokens."""
    probabilities = scores.double().softmax(-1)
    if name == "min-p":
        return bool(((probabilities[differ] / probabilities.max() - min_p).abs() < BORDER).all())
    order = probabilities.sort(descending=True).indices
    before = torch.zeros_like(probabilities)
    before[order] = probabilities[order].cumsum(0) - probabilities[order]
    return name == "top-p" and bool(((before[differ] - top_p).abs() < BORDER).all())


def test_nucleus_size_by_hand():
    assert nucleus_size(of([0.5, 0.3, 0.15, 0.05]), 0.9).item() == 3
    assert nucleus_size(torch.stack([of([0.95, 0.05]), of([0.5, 0.5])])).tolist() == [1, 2]


@pytest.mark.default_model
class TestOnTheDefaultModel:
    """B01, B19 and B22: measured on SmolLM2-135M-Instruct, 'The capital of France is'."""

    def test_b01_temperature_zero_is_greedy(self, capital):
        stages = sampling_stages(capital.last_logits, Settings(temperature=0))
        drawn = draw(stages)
        assert (drawn.id, drawn.probability, drawn.uniform) == (7042, 1.0, None)

    def test_b22_top_logits(self, capital):
        top = capital.last_logits.topk(5).values.tolist()
        assert top == pytest.approx([17.371, 14.889, 13.245, 13.009, 12.952], abs=2e-3)

    @pytest.mark.parametrize(("t", "p", "size"), [(0.5, 0.9919, 1), (1, 0.7725, 10), (2, 0.0522, 13_307)])
    def test_b22_probability_and_nucleus(self, capital, t, p, size):
        stages = sampling_stages(capital.last_logits, Settings(temperature=t, top_p=0.9))
        assert float(stages.stages[0].probabilities[0]) == pytest.approx(p, abs=5e-4)
        assert stages.candidates == pytest.approx(size, abs=3)

    def test_b19_nothing_is_cut_unless_asked_for(self, capital):
        assert Settings().top_k == 0
        assert sampling_stages(capital.last_logits).candidates == 49_152
