"""The colours of the app, one role each, for both themes.

A role is always shown with something beside its colour: a letter, a line style or a hatch.
Contrast against the page (#FFFFFF light, #0F1720 dark) is at least 4.5 : 1 for every role that
carries text; a test computes it.
"""

from dataclasses import dataclass

import plotly.colors


@dataclass(frozen=True)
class Role:
    """One meaning, its two colours, and the mark that goes with it.

    Attributes:
        light: colour on the light page, ``#RRGGBB``.
        dark: colour on the dark page, ``#RRGGBB``.
        letter: letter shown beside the colour, or an empty string.
        dash: plotly's name of the line style that goes with the colour.
    """

    light: str
    dark: str
    letter: str = ""
    dash: str = "solid"

    def on(self, theme: str) -> str:
        """The colour on ``theme``, ``"light"`` or ``"dark"``."""
        return self.dark if theme == "dark" else self.light


BACKGROUND = Role("#FFFFFF", "#0F1720")
SURFACE = Role("#F5F7FA", "#17222E")
LINE = Role("#D5DCE4", "#2C3A48")
INK = Role("#1F2933", "#E6EAF0")
MUTED = Role("#52606D", "#A7B1BE")
ACCENT = Role("#0B62A4", "#6CB6F0")

QUERY = Role("#0072B2", "#56B4E9", "Q", "solid")
KEY = Role("#B34700", "#F0955A", "K", "dash")
VALUE = Role("#00795A", "#2BC79A", "V", "dot")
ATTENTION = Role("#8F4E7D", "#D79AC4")
CACHE = Role("#8A5A00", "#E8B34A")
PIN = Role("#B3261E", "#FF8A80")

ROLES = {
    "background": BACKGROUND,
    "surface": SURFACE,
    "line": LINE,
    "ink": INK,
    "muted": MUTED,
    "accent": ACCENT,
    "query": QUERY,
    "key": KEY,
    "value": VALUE,
    "attention": ATTENTION,
    "cache": CACHE,
    "pin": PIN,
}

#: Roles that are used as text and must be legible as such.
TEXT_ROLES = ("ink", "muted", "accent", "query", "key", "value", "attention", "cache", "pin")

#: Sequential maps, low to high: legible to colour-blind readers and in grey.
SEQUENTIAL = plotly.colors.sequential.Cividis


def diverging(theme: str) -> list[list]:
    """Blue, page, orange around a true zero, as a plotly colour scale.

    The middle is the page itself, so that a zero is drawn as nothing on either theme.
    """
    low, high = ("#0B62A4", "#C25400") if theme == "light" else ("#6CB6F0", "#F5A05F")
    return [[0.0, low], [0.5, BACKGROUND.on(theme)], [1.0, high]]


def contrast(first: str, second: str) -> float:
    """WCAG 2.2 contrast ratio of two ``#RRGGBB`` colours, from 1 to 21."""

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    brighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def css() -> str:
    """The roles as CSS custom properties, for components and for the page.

    ``--query`` and its kin hold the light colours, and the dark ones inside ``[data-theme=dark]``.
    """
    rules = []
    for theme, selector in (("light", ":root, :host, .stage"), ("dark", ".stage[data-theme=dark]")):
        names = [f"--{name}: {role.on(theme)};" for name, role in ROLES.items()]
        low, _, high = (colour for _, colour in diverging(theme))
        names += [f"--low: {low};", f"--high: {high};"]
        rules.append(f"{selector} {{ {' '.join(names)} }}")
    return "\n".join(rules)


def page_css(theme: str) -> str:
    """The roles as custom properties of the whole page, for the theme it wears."""
    return f":root {{ {' '.join(f'--{name}: {role.on(theme)};' for name, role in ROLES.items())} }}"
