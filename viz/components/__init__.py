"""Components that run in the browser on data they already have.

Each is a script and a style sheet in this folder, ``name.js`` and ``name.css``, joined to the
shared ``common.js`` and ``common.css`` and to the palette. They take arrays and strings, insert
text only as text, and load nothing from elsewhere.
"""

import base64
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import streamlit as st

from viz import palette

FOLDER = Path(__file__).parent


@cache
def component(name: str, scripts: tuple[str, ...] = ()) -> Callable:
    """The mounting function of the component ``name``, registered once in a process.

    ``scripts`` are further files of this folder, put between ``common.js`` and ``name.js``.
    """
    read = lambda file: (FOLDER / file).read_text(encoding="utf-8")  # noqa: E731
    return st.components.v2.component(
        f"explainer_{name}",
        html='<div class="stage"></div>',
        css="\n".join([palette.css(), read("common.css"), read(f"{name}.css")]),
        js="\n".join(read(file) for file in ("common.js", *scripts, f"{name}.js")),
    )


def reported(key: str, event: str) -> object:
    """What the component ``key`` has just reported; None if nothing.

    Where a run was cut short, Streamlit may have let go of the component before it hears of the
    click: then the click is lost, and not the page.
    """
    state = st.session_state.get(key)
    return None if state is None else state.get(event)


def packed(values: np.ndarray) -> dict:
    """An array as a component receives it: base64 of little-endian float32, and its shape."""
    array = np.ascontiguousarray(values, dtype="<f4")
    return {"f32": base64.b64encode(array.tobytes()).decode("ascii"), "shape": list(array.shape)}
