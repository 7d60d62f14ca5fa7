"""Fixtures that many tests share."""

import os

# Before any library reads it: no test may reach a hub.
os.environ["HF_HUB_OFFLINE"] = "1"
# As the server has it: on a machine that does other things, torch's threads that wait by spinning
# hold each other up, and a measurement of seconds takes minutes.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

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
