"""``make serve``: the app for everyone in the network, with limits for each visitor.

Says what it opens before it does. ``make run`` opens the app to this machine alone, and with wider
limits.
"""

import argparse
import os
import socket
import sys
from collections.abc import Mapping

import psutil

from pages.shared.limits import Limits, limits_from, sentences

#: Limits that suit thirty people on two cores. What the environment names is stronger.
ROOM = {
    "EXPLAINER_MAX_TOKENS": "128",
    "EXPLAINER_MAX_WRITTEN": "24",
    "EXPLAINER_MAX_SWEPT": "32",
    "EXPLAINER_MAX_PASS": "256",
    "EXPLAINER_MAX_SESSIONS": "40",
    "EXPLAINER_IDLE_SECONDS": "120",
}
EVERYWHERE = "0.0.0.0"


def addresses() -> list[str]:
    """The addresses under which others in the network reach this machine (IPv4)."""
    own = [each.address for some in psutil.net_if_addrs().values() for each in some if each.family == socket.AF_INET]
    return [address for address in own if not address.startswith("127.")]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What the server is started with."""
    return {**ROOM, **given}


def announcement(limits: Limits, port: int, found: list[str]) -> str:
    """What is opened, and what a visitor may do there."""
    reached = [f"  http://{address}:{port}" for address in found] or ["  (this machine has no address in a network)"]
    return "\n".join(
        [
            "This opens the app to everyone who can reach this machine:",
            *reached,
            "Without a password, and without encryption: for a room that you trust. Ctrl+C ends it.",
            "",
            "Limits, each with the name that changes it:",
            *(f"  {name}={value}  {what}" for name, value, what in sentences(limits)),
            "",
        ]
    )


def main() -> None:
    """Say what is opened, and become the server."""
    parser = argparse.ArgumentParser(prog="python serve.py", description=__doc__)
    parser.add_argument("--port", type=int, default=8501)
    port = parser.parse_args().port
    started_with = environment(os.environ)
    try:
        limits = limits_from(started_with)
    except ValueError as problem:
        sys.exit(f"The server cannot start: {problem}")
    print(announcement(limits, port, addresses()), flush=True)
    command = [sys.executable, "-m", "streamlit", "run", "server.py"]
    command += ["--server.address", EVERYWHERE, "--server.port", str(port)]
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    os.execve(sys.executable, command, started_with)


if __name__ == "__main__":
    main()
