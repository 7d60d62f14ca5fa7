"""One forward pass: in its turn, under its edits, by the clock."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from transformers import Cache

from model.clock import seconds_of
from model.edits import Edits
from model.language_model import LanguageModel
from model.taps import Recorder, recording


@dataclass(frozen=True, eq=False)
class Forward:
    """What one forward pass gave.

    Attributes:
        logits: of the last positions that were asked for, float32 (rows, positions, vocabulary size).
        seconds: time of the pass on this machine; waiting for the device is part of it, waiting
            for other visitors is not.
        recorder: what was recorded on the way; empty unless that was asked for.
    """

    logits: torch.Tensor = field(repr=False)
    seconds: float
    recorder: Recorder = field(repr=False)

    @property
    def last(self) -> torch.Tensor:
        """The first row's logits after its last position, (vocabulary size,)."""
        return self.logits[0, -1]


@torch.inference_mode()
def forward(
    lm: LanguageModel,
    rows: Sequence[Sequence[int]],
    cache: Cache | None = None,
    *,
    edits: Edits = (),
    row_edits: tuple[Edits, ...] = (),
    positions: int = 1,
    record: bool = False,
    has_turn: bool = False,
) -> Forward:
    """Run the model once over ``rows``, when it is this thread's turn.

    Args:
        rows: token IDs, one sequence a row of the batch, all of the same length.
        cache: read first and then written to; None to use none.
        edits: what is broken in every row.
        row_edits: more edits for each row; empty if there are none.
        positions: of how many positions the logits are worked out, counted from the last.
        record: whether what the first row computed is kept, layer by layer.
        has_turn: True if the caller holds the model's turn already, to run several passes in it.

    Raises:
        ModelBusy: if too many are waiting.
    """
    inputs = torch.tensor([list(row) for row in rows], device=lm.device)
    turn = nullcontext() if has_turn else lm.turns.take()
    with turn, recording(Recorder(edits, keep=record, rows=row_edits)) as recorder:
        output, seconds = seconds_of(
            lm.device,
            lambda: lm.module(inputs, cache=cache, use_cache=cache is not None, logits_to_keep=positions),
        )
    return Forward(output.logits.float(), seconds, recorder)
