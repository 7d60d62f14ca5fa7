"""What can go wrong, each as a sentence that a visitor can act on.

Every error raised on purpose by :mod:`model` is an :class:`ExplainerError`; its text is written
to be shown as it stands.
"""


class ExplainerError(Exception):
    """A problem stated in one sentence that says what to do."""


class ModelUnavailable(ExplainerError):
    """The model asked for is not on this machine, or is not one the operator listed."""


class ModelUnsupported(ExplainerError):
    """The model's files are here, but this program cannot explain its architecture."""


class ModelBusy(ExplainerError):
    """Too many visitors are waiting for the model."""


class TextRefused(ExplainerError):
    """The text cannot be run: empty, or longer than the limit."""


class SettingRefused(ExplainerError, ValueError):
    """A sampling setting is outside its range."""
