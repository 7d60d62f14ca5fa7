"""The residual stream, the lens, normalisations and neurons: what is shown is what the model computed.

Tolerance of sums: 2e-5 of the largest value, some hundred times the rounding of float32, because
they run in another order here than in the model. In the default model sums are compared with the
same relative tolerance.
"""

import pytest
import torch
from transformers import (
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    Olmo2Config,
    Olmo2ForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    PhiConfig,
    PhiForCausalLM,
)

import model
from model import lens
from model.blocks import feed_forward_wiring
from model.feed_forward import activity, network_of, neurons_at, promotions
from model.journey import stream_check
from model.lens import lens_column
from model.normalisation import normalised
from model.residual import NORMS, norm_before, stream_profile
from tests import tiny

IDS = torch.arange(3, 20).tolist()
TOLERANCE = 2e-5
POSITIONS = (0, 7, 16)

#: Ways of wiring a layer that tests/tiny.py has no family of.
MORE = {
    "gpt-neox, sequential": lambda: GPTNeoXForCausalLM(GPTNeoXConfig(**tiny.SHAPE, use_parallel_residual=False)),
    "phi, one norm for both halves": lambda: PhiForCausalLM(PhiConfig(**tiny.SHAPE)),
    "phi3, gate and up in one matrix": lambda: Phi3ForCausalLM(Phi3Config(**tiny.SHAPE, pad_token_id=0)),
    "olmo2, norms only behind": lambda: Olmo2ForCausalLM(Olmo2Config(**tiny.SHAPE)),
}
PARALLEL = {"gpt-neox, parallel blocks", "phi, one norm for both halves"}
LAYER_NORM = {"gpt2", "gpt-neox, parallel blocks", "gpt-neox, sequential", "phi, one norm for both halves"}


def explained(family: str) -> model.LanguageModel:
    if family in tiny.FAMILIES:
        return tiny.explained(family)
    torch.manual_seed(0)
    module = MORE[family]().eval().float()
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4)
    return model.from_parts(module, tiny.tokenizer(), key=family, title=family)


@pytest.fixture(params=[*tiny.FAMILIES, *MORE], scope="module")
def family(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def run(family) -> model.Trace:
    return model.trace(explained(family), IDS)


def places(run: model.Trace):
    return [(layer, position) for layer in range(run.model.architecture.layers) for position in POSITIONS]


# ---- the stream ----


def test_stream_in_and_both_additions_are_stream_out(run):
    for layer, position in places(run):
        check = stream_check(run, layer, position)
        assert check.difference <= TOLERANCE * check.largest


def test_the_profile_is_of_the_streams(run):
    profile = stream_profile(run, 7)
    assert profile.sizes == pytest.approx([float(stream[7].norm()) for stream in run.streams], rel=1e-5)
    assert profile.attention == pytest.approx([float(added[7].norm()) for added in run.attention_added], rel=1e-5)
    assert profile.feed_forward == pytest.approx([float(added[7].norm()) for added in run.feed_forward_added], rel=1e-5)
    assert profile.with_final[-1] == pytest.approx(1)
    cosine = torch.cosine_similarity(run.streams[2][7], run.streams[1][7], dim=0)
    assert profile.with_before[1] == pytest.approx(float(cosine), abs=1e-5)


def test_norm_arithmetic_is_the_modules_own_output(run, family):
    for layer, position in places(run):
        for which in NORMS:
            found = norm_before(run, layer, position, which)
            if found is None:
                assert family.startswith("olmo2") and which != "final"
                continue
            assert found.difference <= TOLERANCE * found.largest
            assert found.centred == (family in LAYER_NORM)
            assert (found.bias is not None) == (family in LAYER_NORM)
            total = found.share(found.before) + (0 if found.bias is None else found.bias)
            assert torch.allclose(total, found.after, rtol=0, atol=TOLERANCE * found.largest)


def test_norm_before_attention_is_given_the_stream(run, family):
    """What the arithmetic starts from is what the module was given in the run."""
    if family.startswith("olmo2"):
        return
    norm, seen = run.model.parts.attention_norm(run.model.parts.blocks[1]), []
    hook = norm.register_forward_hook(lambda module, args, output: seen.append((args[0], output)))
    model.trace(run.model, IDS)
    hook.remove()
    found = norm_before(run, 1, 7, "attention")
    assert torch.equal(seen[0][0][0, 7].double(), found.before)
    assert torch.allclose(seen[0][1][0, 7].double(), found.after, rtol=0, atol=TOLERANCE * found.largest)


def test_another_normalisation_is_not_mistaken_for_one_of_the_two():
    class Halved(torch.nn.Module):
        weight, eps = torch.ones(4), 1e-6

        def forward(self, vector):
            return vector / vector.abs().max()

    assert normalised(Halved(), torch.tensor([1.0, 2.0, -3.0, 0.5])) is None


# ---- the lens ----


def test_the_last_step_of_the_lens_is_the_models_answer_exactly(run):
    for position in POSITIONS:
        column = lens_column(run, position)
        answer = run.logits(position).softmax(-1)
        assert column.probabilities[-1].tolist() == answer.topk(5).values.tolist()
        assert column.ids[-1, 0] == column.final == int(answer.argmax())
        assert column.ranks[-1] == 1 and column.chances[-1] == float(answer.max())


def test_columns_come_in_blocks_and_in_order(run, monkeypatch):
    """However many positions are in memory at once, each has the numbers it has alone, to rounding."""
    monkeypatch.setattr(lens, "LOGITS", 3 * 4 * tiny.VOCABULARY)
    together = lens.lens_columns(run, range(2, 10))
    assert len(together) == 8
    for position, column in zip(range(2, 10), together, strict=True):
        alone = lens_column(run, position)
        assert column.final == alone.final
        assert column.probabilities[-1].tolist() == alone.probabilities[-1].tolist()
        assert column.probabilities == pytest.approx(alone.probabilities, rel=1e-4)
    assert lens.lens_columns(run, []) == []


def test_the_lens_before_norms_once(run):
    column = lens_column(run, 7)
    for step in range(run.model.architecture.layers):
        by_itself = run.lens(step - 1, 7)
        probabilities = by_itself.softmax(-1)
        assert column.probabilities[step] == pytest.approx(probabilities.topk(5).values.numpy(), rel=1e-4)
        rank = int((by_itself > by_itself[column.final]).sum()) + 1
        assert abs(int(column.ranks[step]) - rank) <= 1, "rounding may swap two that are all but equal"


# ---- the feed-forward network ----


def test_the_wiring_is_the_families(run, family):
    for layer, position in places(run):
        assert feed_forward_wiring(run, layer, position).parallel == (family in PARALLEL)


def test_neurons_add_up_to_what_the_network_added(run, family):
    for layer, position in places(run):
        found = neurons_at(run, layer, position)
        assert found.difference <= TOLERANCE * found.largest
        assert (found.gate is None) == (family in LAYER_NORM), (
            "of these families, just those with LayerNorm have no gate"
        )
        assert len(found.activation) == run.model.architecture.feed_forward_size
        assert found.normed_after == family.startswith(("gemma", "olmo2"))
        by_hand = found.bent if found.gate is None else found.bent * found.up
        assert found.activation == pytest.approx(by_hand, rel=1e-5, abs=1e-6)


def test_the_activations_are_what_the_last_matrix_is_given(run):
    """Kept by a hook on a run of this test's own, and compared with what is worked out from the trace."""
    parts, seen = run.model.parts, []
    down = network_of(parts.feed_forward(parts.blocks[1])).down
    hook = down.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    model.trace(run.model, IDS)
    hook.remove()
    kept = seen[0].reshape(len(IDS), -1)
    found = neurons_at(run, 1, 7)
    scale = float(kept.abs().max())
    assert torch.allclose(torch.tensor(found.activation), kept[7], rtol=0, atol=TOLERANCE * scale)
    along = activity(run, found, 5)
    assert torch.allclose(torch.tensor(along), kept[:, 5], rtol=0, atol=TOLERANCE * scale)


def test_promotions_are_shares_of_the_logits(run):
    """Through the linear parts, a neuron's share is what taking it out of the last stream would take from the logits,
    the divisors held: with one layer's network as a whole the shares of all neurons add up to the network's."""
    found = neurons_at(run, 2, 7)
    parts, vocabulary = run.model.parts, run.model.architecture.vocabulary_size
    each = promotions(run, found, range(len(found.activation)), count=vocabulary)
    total = torch.zeros(vocabulary, dtype=torch.double)
    for one in each:
        total[list(one.ids)] += torch.tensor(one.raised, dtype=torch.double)
    steps = normalised(parts.final_norm, run.streams[-1][7])
    added = run.feed_forward_added[2][7].double()
    biases = parts.feed_forward(parts.blocks[2])
    bias = getattr(network_of(biases).down, "bias", None)
    if bias is not None:
        added = added - bias.double()
    whole = steps.share(added) @ parts.unembedding.weight.double().T
    assert torch.allclose(total, whole, rtol=0, atol=1e-4 * float(whole.abs().max()))


# ---- the default model ----


@pytest.mark.default_model
def test_the_default_model_adds_up(capital):
    for layer in range(30):
        for position in range(5):
            check = stream_check(capital, layer, position)
            assert check.difference <= TOLERANCE * check.largest
            found = neurons_at(capital, layer, position)
            assert found.difference <= TOLERANCE * found.largest
    for which in NORMS:
        steps = norm_before(capital, 23, 4, which)
        assert not steps.centred and steps.bias is None
        assert steps.difference <= TOLERANCE * steps.largest


@pytest.mark.default_model
def test_the_default_models_late_verdict(capital):
    column = lens_column(capital, 4)
    assert capital.model.vocabulary.labels[column.final] == "␣Paris"
    assert column.ranks[-4:].tolist() == [34, 7, 3, 1] and column.settled == 30
    assert column.probabilities[-1, 0] == float(capital.logits(4).softmax(-1).max())
    assert len(column.ranks) == 31


@pytest.mark.default_model
def test_a_neuron_of_the_default_model_does_what_is_said(capital):
    """Taking a neuron's vector out of the last stream lowers the logits by its share, divisor held."""
    found = neurons_at(capital, 29, 4)
    neuron = found.strongest(1)[0]
    (promoted,) = promotions(capital, found, [neuron])
    parts = capital.model.parts
    row = network_of(parts.feed_forward(parts.blocks[29])).output_rows[neuron]
    without = capital.streams[-1][4] - float(found.activation[neuron]) * row
    steps = normalised(parts.final_norm, capital.streams[-1][4])
    weight = parts.unembedding.weight.double()
    lost = (steps.share(capital.streams[-1][4]) - steps.share(without)) @ weight.T
    assert float(lost[promoted.ids[0]]) == pytest.approx(promoted.raised[0], rel=1e-3)
    assert int(lost.argmax()) == promoted.ids[0]
