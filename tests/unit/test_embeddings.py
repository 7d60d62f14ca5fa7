"""The table's rows, their neighbours and their map, against plain loops and numpy."""

import numpy as np
import pytest
import torch

import model
from model import embeddings
from tests import tiny

TEXT = "the cat sat on the mat the"


@pytest.fixture
def table() -> torch.Tensor:
    made = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))
    made[7] = 0.0
    made[9] = 3 * made[4]
    return made


def test_the_row_enters_layer_0_as_it_is_in_llama():
    run = model.trace(tiny.explained("llama, grouped KV heads"), TEXT)
    found = embeddings.looked_up(run, 2)
    assert found.id == run.tokens.ids[2]
    assert torch.equal(found.row, run.model.parts.embedding.weight[found.id])
    assert found.factor == 1.0 and torch.equal(found.entering, found.row)


def test_gemma_multiplies_by_the_root_of_its_hidden_size():
    run = model.trace(tiny.explained("gemma2"), TEXT)
    assert embeddings.looked_up(run, 1).factor == pytest.approx(48**0.5, rel=1e-4)


def test_repeated_tokens_have_one_row_and_are_told_apart_only_by_position():
    for family, far in (("llama, grouped KV heads", False), ("gpt2", True)):
        run = model.trace(tiny.explained(family), "the cat the cat")
        twins = [p for p in range(len(run)) if embeddings.repeats(run.tokens, p)]
        here = twins[-1]
        other = embeddings.repeats(run.tokens, here)[0]
        assert run.tokens.ids[here] == run.tokens.ids[other]
        assert (embeddings.distance(run.streams[0][here], run.streams[0][other]) > 0) is far


def test_the_nearest_twin_is_told_with_its_distance():
    run = model.trace(tiny.explained("gpt2"), "the the the")
    for here in range(len(run)):
        others = embeddings.repeats(run.tokens, here)
        twin = embeddings.nearest_twin(run, here)
        if not others:
            assert twin is None
            continue
        assert abs(twin.position - here) == min(abs(other - here) for other in others)
        assert twin.count == run.tokens.ids.count(run.tokens.ids[here]) == len(others) + 1
        apart = np.linalg.norm((run.streams[0][here] - run.streams[0][twin.position]).numpy())
        assert twin.apart == pytest.approx(apart, rel=1e-5)


def test_a_token_has_no_twin_where_it_stands_once():
    run = model.trace(tiny.explained("gpt2"), "a")
    assert embeddings.nearest_twin(run, 0) is None


def test_ten_tokens_in_front_change_what_enters_only_where_positions_are_added():
    for family, far in (("llama, grouped KV heads", False), ("gpt2", True)):
        run = model.trace(tiny.explained(family), TEXT)
        later = model.trace(run.model, embeddings.moved_back(run, 10))
        assert (embeddings.entering_apart(run, 3, later, 13) > 0) is far


def test_a_row_lies_between_its_lowest_and_highest_number():
    found = embeddings.looked_up(model.trace(tiny.explained("gpt2"), TEXT), 1)
    assert (found.lowest, found.highest) == (min(found.row.tolist()), max(found.row.tolist()))


def test_learned_positions_add_up_to_what_enters():
    run = model.trace(tiny.explained("gpt2"), TEXT)
    added = embeddings.position_added(run, 3)
    assert added.difference < 1e-6
    assert torch.equal(added.position_row, run.model.parts.learned_positions.weight[3])
    assert added.stacked.shape == (3, 48) and added.size == 48
    assert embeddings.looked_up(run, 3).factor is None
    assert added.relative_length == pytest.approx(float(added.position_row.norm() / added.token_row.norm()))


def test_neighbours_are_those_of_a_plain_loop(table):
    rows = table.double().numpy()

    def cosine(a, b):
        length = np.linalg.norm(a) * np.linalg.norm(b)
        return a @ b / length if length else 0.0

    for id, near in zip((4, 20), embeddings.nearest(table, [4, 20], 5), strict=True):
        expected = sorted((-cosine(rows[id], row), other) for other, row in enumerate(rows) if other != id)[:5]
        assert [n.id for n in near] == [other for _, other in expected]
        assert [n.similarity for n in near] == pytest.approx([-value for value, _ in expected], abs=1e-5)


def test_neighbours_do_not_depend_on_blocks_and_leave_the_row_itself_out(table, monkeypatch):
    whole = embeddings.nearest(table, [4, 7], 50)
    monkeypatch.setattr(embeddings, "_BLOCK", 7)
    assert [[n.id for n in row] for row in embeddings.nearest(table, [4], 50)] == [[n.id for n in whole[0]]]
    assert len(whole[0]) == 39 and 4 not in [n.id for n in whole[0]]
    assert whole[0][0] == embeddings.Neighbour(9, pytest.approx(1.0, abs=1e-6))
    assert {n.similarity for n in whole[1]} == {0.0}, "a row of zeros points nowhere"


def test_the_map_explains_what_numpy_says(table):
    found = embeddings.principal_map(table)
    variances = np.sort(np.linalg.eigvalsh(np.cov(table.double().numpy().T)))[::-1]
    assert found.explained == pytest.approx(tuple(variances[:2] / variances.sum()), abs=1e-5)
    assert found.held == pytest.approx(sum(found.explained)) and found.held + found.flattened == 1
    along = found.points.double().numpy().var(axis=0, ddof=1)
    assert along == pytest.approx(variances[:2], rel=1e-4)
    assert (found.points.numpy()[np.abs(found.points.numpy()).argmax(0), [0, 1]] > 0).all(), "the signs are settled"


@pytest.mark.parametrize("vectors", [torch.ones(1, 6), torch.ones(4, 6)])
def test_vectors_that_do_not_differ_lie_on_one_point(vectors):
    found = embeddings.principal_map(vectors)
    assert found.explained == (0.0, 0.0)
    assert not found.points.any()


def test_a_neighbourhood_names_each_row_once(table):
    near = dict(zip([4, 9], embeddings.nearest(table, [4, 9], 3), strict=True))
    drawn = embeddings.neighbourhood(table, near)
    assert len(set(drawn.ids)) == len(drawn.ids) == len(drawn.map.points)
    assert drawn.ids[: drawn.own] == (4, 9)
    assert {(drawn.ids[a], drawn.ids[b]) for a, b in drawn.links} == {(i, n.id) for i, row in near.items() for n in row}


def test_around_takes_the_selected_token_first():
    tokens = model.tokenize(tiny.explained("gpt2"), TEXT)
    ids = embeddings.around(tokens, 2, most=3)
    assert ids[0] == tokens.ids[2] and len(ids) == len(set(ids)) == 3
    assert set(embeddings.around(tokens, 0, most=99)) == set(tokens.ids)


def test_a_single_token_and_bytes_have_rows_too():
    lm = tiny.explained("gpt2")
    for text in ("a", "🙂"):
        run = model.trace(lm, text)
        near = embeddings.nearest(lm.parts.embedding.weight, run.tokens.ids[:1], 4)[0]
        assert embeddings.looked_up(run, 0).row.shape == (48,) and len(near) == 4
        assert len(embeddings.moved_back(run, 10)) == len(run) + 10


@pytest.mark.default_model
def test_france_is_near_other_countries(capital):
    lm = capital.model
    near = embeddings.nearest(lm.parts.embedding.weight, [capital.tokens.ids[3]], 5)[0]
    assert {"␣Spain", "␣Germany", "␣Italy"} <= {lm.vocabulary.labels[n.id] for n in near}
    assert embeddings.looked_up(capital, 3).factor == 1.0
    assert -1.0 <= embeddings.likeness_kept(capital, 3) <= 1.0


@pytest.mark.default_model
def test_the_code_on_the_page_runs():
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_file("../../app.py", default_timeout=60).switch_page("pages/embeddings.py").run()
    (code,) = [block.value for block in page.code]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    names: dict = {}
    exec(compile(code, "the code", "exec"), names)
    assert len(names["near"]) == 12
