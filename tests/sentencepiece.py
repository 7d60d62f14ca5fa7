"""Small tokenizers of other spellings than byte-level, for tests."""

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from tests import tiny

_PIECES = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁thecaor"]
_MERGES = [("t", "h"), ("th", "e"), ("▁", "the"), ("c", "a"), ("ca", "t"), ("▁", "cat")]


def tokenizer() -> PreTrainedTokenizerFast:
    """As Llama 2's: a space is ▁, one is put in front, unknown characters fall back to bytes."""
    vocabulary = {piece: id for id, piece in enumerate(_PIECES)}
    for pair in _MERGES:
        vocabulary.setdefault("".join(pair), len(vocabulary))
    backend = Tokenizer(models.BPE(vocabulary, _MERGES, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens([AddedToken(name, special=True) for name in ("<unk>", "<s>", "</s>")])
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def composing_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level, but the text is composed (NFC) first, as Qwen's tokenizer does."""
    backend = Tokenizer(models.BPE())
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=tiny.VOCABULARY,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(["café the cat"] * 3, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend)
