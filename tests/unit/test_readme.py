"""What the README promises is so."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.default_model
def test_the_notebook_lines_run_and_draw_a_head():
    lines = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    assert len(lines.strip().splitlines()) <= 10
    scope = {}
    exec(lines.replace(".show()", ""), scope)  # without a browser there is nothing to show it in
    assert scope["look"].row.argmax() == 3 and len(scope["run"]) == 5


def test_every_file_that_the_readme_names_is_there():
    for name in re.findall(r"\b(docs/\S+?\.png|requirements[\w-]*\.txt|LICENSE|app\.py|server\.py)", README):
        assert (ROOT / name).exists(), name
