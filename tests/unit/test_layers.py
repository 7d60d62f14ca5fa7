"""The table of who may import whom, held by reading the imports."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Folder → top-level modules its files may never import.
NEVER = {
    "model": {"streamlit", "plotly", "pandas", "viz", "pages"},
    "viz": {"torch", "transformers", "tokenizers", "model", "pages"},
    "pages": {"torch", "transformers", "numpy", "plotly"},
    "app.py": {"torch", "transformers", "numpy", "plotly", "pandas", "viz"},
}

#: Component files of viz/: the only ones there that may import Streamlit.
COMPONENT_FILES = {"components/__init__.py", "draw.py", "loop.py"}

#: What pages/ takes from plotly: the type of a figure, in signatures.
ALLOWED = {("pages/shared/anatomy.py", "plotly")}


def files(where: str) -> list[Path]:
    path = ROOT / where
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("where", NEVER)
def test_no_folder_imports_what_it_may_not(where):
    assert files(where)
    for file in files(where):
        name = file.relative_to(ROOT).as_posix()
        tops = {module.split(".")[0] for module in imports(file)}
        forbidden = {top for top in tops & NEVER[where] if (name, top) not in ALLOWED}
        assert not forbidden, f"{name} imports {forbidden}"


def test_the_model_is_run_in_one_place():
    """There it waits for its turn, is edited, recorded and timed; a run past it would disturb everybody's."""
    running = {
        file.name
        for file in files("model")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "module"
    }
    assert running == {"forward.py"}


def test_only_component_files_of_viz_import_streamlit():
    for file in files("viz"):
        name = file.relative_to(ROOT / "viz").as_posix()
        if name not in COMPONENT_FILES:
            assert "streamlit" not in {module.split(".")[0] for module in imports(file)}, name


def test_pages_do_not_import_each_other():
    pages = {f"pages.{file.stem}" for file in (ROOT / "pages").glob("*.py")}
    for file in files("pages"):
        assert not imports(file) & pages, file


def test_components_load_nothing_from_elsewhere_and_insert_text_only_as_text():
    for file in (ROOT / "viz" / "components").iterdir():
        if file.suffix in (".js", ".css"):
            text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            for forbidden in (
                "http://",
                "https://",
                "innerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "@import",
            ):
                assert forbidden not in text, f"{file.name} has {forbidden}"
