"""What the operator bounds, and the room."""

import subprocess
import sys

import pytest

from pages.shared.limits import Limits, limits_from
from pages.shared.visitors import Visitors


def test_without_names_in_the_environment_the_defaults_hold():
    assert limits_from({"HOME": "/x", "EXPLAINER_MAX_TOKENS": " "}) == Limits()


def test_every_bound_has_a_name():
    environment = {
        "EXPLAINER_MAX_TOKENS": "100",
        "EXPLAINER_MAX_WRITTEN": "8",
        "EXPLAINER_MAX_SWEPT": "32",
        "EXPLAINER_MAX_PASS": "256",
        "EXPLAINER_MAX_SESSIONS": "40",
        "EXPLAINER_TRACE_MB": "500",
        "EXPLAINER_MEASUREMENT_MB": "50",
        "EXPLAINER_IDLE_SECONDS": "60",
    }
    assert limits_from(environment) == Limits(100, 8, 32, 256, 40, 500, 50, 60)


@pytest.mark.parametrize("text", ["many", "-1", "0", "1e3", "3.5", "٣", "9" * 30, "1_000"])
def test_a_bound_that_is_none_gets_a_sentence(text):
    with pytest.raises(ValueError, match="EXPLAINER_MAX_TOKENS .tokens a text. must be"):
        limits_from({"EXPLAINER_MAX_TOKENS": text})


def test_the_server_does_not_start_on_a_bound_that_is_none():
    program = "import os; os.environ['EXPLAINER_MAX_TOKENS'] = 'x'; import pages.shared.limits"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.startswith("The server cannot start: EXPLAINER_MAX_TOKENS")


def test_a_room_is_over_full_while_one_too_many_is_in_it():
    here = Visitors(1)
    with here.visit():
        assert not here.is_over_full
        with here.visit():
            assert here.present == 2 and here.is_over_full
        assert not here.is_over_full
    assert here.present == 0


def test_a_room_without_a_bound_is_never_over_full():
    here = Visitors(0)
    with here.visit(), here.visit():
        assert not here.is_over_full
