"""Memory and disk that are too small, said before anything is loaded."""

import psutil
import pytest
import torch

import model
from model import preparation, room, stored
from model.registry import listed_model


@pytest.fixture
def free(monkeypatch):
    """Sets how much memory the machine has left."""

    def have(count: int) -> None:
        memory = psutil.virtual_memory()._replace(available=count)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)

    return have


def test_a_model_that_does_not_fit_into_memory_is_refused_before_it_is_loaded(folder, free, monkeypatch):
    weights = stored.value_count(folder) * 4
    free(weights + room.WORKING_MEMORY)
    assert model.open_model(str(folder)).architecture.parameters * 4 == weights
    free(weights + room.WORKING_MEMORY - 1)
    monkeypatch.setattr("model.opening.AutoModelForCausalLM", None)  # nothing is built
    with pytest.raises(model.ModelUnavailable) as told:
        model.open_model(str(folder))
    assert "needs about 0.3 GB of memory" in str(told.value) and "0.3 GB are free" in str(told.value)
    assert "smaller model" in str(told.value)


def test_fewer_bits_need_less(folder, free):
    free(stored.value_count(folder) * 2 + room.WORKING_MEMORY)
    assert model.open_model(str(folder), dtype="bfloat16").dtype == "bfloat16"
    with pytest.raises(model.ModelUnavailable, match="memory"):
        model.open_model(str(folder), dtype="float32")


@pytest.mark.default_model
def test_the_default_models_need_is_known_from_the_head_of_its_file(default_model):
    folder = preparation.prepared_folder(listed_model(None))
    assert stored.value_count(folder) == default_model.architecture.parameters


def group(folder, most: str, taken: int, inactive: int, names) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    limit, used, reclaimable = names
    (folder / limit).write_text(f"{most}\n")
    (folder / used).write_text(f"{taken}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{reclaimable} {inactive}\n")


VERSION_2 = ("memory.max", "memory.current", "inactive_file")
VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def test_a_containers_limit_is_known_and_those_of_the_groups_above(tmp_path):
    own, groups = tmp_path / "own", tmp_path / "groups"
    own.write_text("0::/kube/pod\n")
    group(groups / "kube" / "pod", "max", 700, 50, VERSION_2)
    group(groups / "kube", "1000", 700, 50, VERSION_2)
    assert room.container_rooms(groups, own) == [350]
    group(groups / "kube" / "pod", "600", 700, 50, VERSION_2)
    assert room.container_rooms(groups, own) == [0, 350]


def test_the_older_control_groups_are_known_too(tmp_path):
    own, groups = tmp_path / "own", tmp_path / "groups"
    own.write_text("9:cpu,cpuacct:/docker/abc\n8:memory:/docker/abc\n1:name=systemd:/docker/abc\n")
    # A container sees its own group at the root, not under the path that the host has for it.
    group(groups / "memory", "5000", 1000, 0, VERSION_1)
    assert room.container_rooms(groups, own) == [4000]


def test_without_control_groups_there_is_no_limit(tmp_path):
    assert room.container_rooms(tmp_path, tmp_path / "absent") == []


def test_the_smaller_of_machine_and_container_counts(free, monkeypatch):
    free(4_000)
    monkeypatch.setattr(room, "container_rooms", lambda: [9_000, 3_000])
    assert room.free_memory() == 3_000
    free(2_000)
    assert room.free_memory() == 2_000


def test_on_a_graphics_card_its_own_memory_counts_and_the_machines(free, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1_000_000_000, 8_000_000_000))
    monkeypatch.setattr(room, "container_rooms", list)  # none
    free(9_000_000_000)
    with pytest.raises(model.ModelUnavailable, match="1.0 GB are free"):
        room.check_memory("A model", 2_000_000_000, "cuda")
    room.check_memory("A model", 600_000_000, "cuda")
    free(100_000_000)
    with pytest.raises(model.ModelUnavailable, match="0.1 GB are free"):
        room.check_memory("A model", 600_000_000, "cuda")
