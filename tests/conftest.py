"""Fixtures that many tests share."""

import os

# Before any library reads it: no test may reach a hub.
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest

import model


@pytest.fixture(scope="session")
def default_model() -> model.LanguageModel:
    """The real default model, prepared from its package the first time."""
    return model.open_model()


@pytest.fixture(scope="session")
def capital(default_model) -> model.Trace:
    """The trace of 'The capital of France is' on the default model."""
    return model.trace(default_model, "The capital of France is")
