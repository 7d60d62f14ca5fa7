"""Make a model ready before the app starts: ``python -m model.prepare [KEY] [--check]``.

With no key, the default model. A prepared copy whose files have changed is made again; with
``--check`` they are read byte by byte to know, where otherwise sizes and times are compared. A hub
model is fetched, as safetensors only, and that is the one command of this project that uses the
network.
"""

import argparse
import logging
import sys

from model.errors import ExplainerError
from model.preparation import prepared_folder, prepared_target, withdrawn
from model.registry import DEFAULT_KEY, Listed, hub_folder, listed_model

_WIDTH = 32


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m model.prepare", description=__doc__.splitlines()[0])
    parser.add_argument("key", nargs="?", default=DEFAULT_KEY, help="a listed model (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="read every byte of the prepared copy, and repair it")
    given = parser.parse_args(arguments)
    try:
        listed = listed_model(given.key)
        if given.check and withdrawn(listed, prepared_target(listed)):
            print(f"The prepared copy in {prepared_target(listed)} has been altered and is made again.")
        if listed.kind == "hub" and hub_folder(listed) is None:
            _fetch(listed)
        folder = prepared_folder(listed, _show)
    except ExplainerError as problem:
        print(f"\n{problem}", file=sys.stderr)
        return 1
    print(f"{listed.title} is ready in {folder}")
    return 0


def _show(share: float, doing: str) -> None:
    filled = round(share * _WIDTH)
    line = f"\r[{'█' * filled}{'·' * (_WIDTH - filled)}] {share:4.0%}  {doing:<36}"
    print(line, end="\n" if share >= 1 else "", flush=True)


def _fetch(listed: Listed) -> None:
    from huggingface_hub import snapshot_download

    print(f"Fetching {listed.source} from the hub …")
    try:
        snapshot_download(listed.source, allow_patterns=["*.safetensors", "*.json", "*.txt", "tokenizer.model"])
    except Exception as reason:  # the hub client raises many kinds, all meaning the same to the reader
        raise ExplainerError(
            f"{listed.source} could not be fetched ({type(reason).__name__}). Check the network and try again."
        ) from reason


if __name__ == "__main__":
    logging.getLogger("model").addHandler(logging.NullHandler())  # who runs a command reads its one sentence
    sys.exit(main())
