"""What a visitor sees of a page that fails: a sentence. The log has the rest."""

import streamlit as st

from pages.shared.frame import PAGES


def tell() -> None:
    """Say in the place where the page broke off which page it was, and what to do."""
    page = PAGES.get(st.session_state.get("page_shown"))
    name = f"The page '{page.name}'" if page else "This page"
    st.error(
        f"{name} could not be shown to its end: a fault of this program, noted in the server's log. Reload the page, "
        "or open another one. Your text and what you selected are in the address, so they are not lost.",
        icon=":material/error:",
    )
