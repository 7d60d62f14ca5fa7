"""Sentences that say nothing about the fact that is looked for: what a context is filled up with."""

import re
from itertools import cycle

from model.language_model import LanguageModel

#: About 550 tokens: the default lengths need no sentence twice.
SENTENCES = (
    "The meeting was moved to the larger room because more people came than expected.",
    "In the afternoon it rained for an hour, and then the sky cleared again.",
    "She bought bread and apples at the market and walked home along the river.",
    "The train was on time, the seats were almost full and nobody talked much.",
    "A new shelf was put up in the kitchen, next to the window.",
    "They watched a film about mountains and went to bed early.",
    "The garden needs water twice a week in summer, more when it is hot.",
    "He repaired the old bicycle and painted it green.",
    "The library opens at ten and closes at six on most days.",
    "For dinner there was soup with carrots, and tea afterwards.",
    "The neighbours have a grey cat that sleeps on the wall.",
    "Two letters came in the morning, and one of them was for the office.",
    "The path through the forest is steep at first and easy after that.",
    "On Sundays the bakery sells small cakes with cherries.",
    "The lamp in the hall was broken for a week before somebody changed the bulb.",
    "A class of children visited the museum and drew pictures of the ships.",
    "The wind came from the sea and smelled of salt.",
    "Her brother plays the piano in the evening, mostly slow pieces.",
    "The report was printed twice because the first copy had a mistake.",
    "Near the station there is a café with three tables outside.",
    "The snow melted quickly and the fields turned brown.",
    "He wrote a long list of things to do and did the last one first.",
    "The bus takes twenty minutes from the bridge to the school.",
    "A carpenter made the table from the wood of an old door.",
    "The shop was closed for a day so that the floor could dry.",
    "They counted the chairs and found that two were missing.",
    "In the harbour a small boat was pulled out of the water and cleaned.",
    "The coffee was too hot to drink, so they waited and talked.",
    "A bird built its nest above the door, and nobody used that door in spring.",
    "The clock in the tower is five minutes slow.",
    "She read the newspaper from the last page to the first.",
    "The hotel has a quiet garden where guests can sit after lunch.",
    "The old map shows a road that is no longer there.",
    "After the concert the musicians carried their cases to the car.",
    "The farmer sells eggs and honey at the end of the lane.",
    "A window was left open and the papers blew across the room.",
)
#: Sentences of the visitor's own at most, and characters of them.
MAX_SENTENCES, MAX_CHARACTERS = 100, 2_000


def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences of a text; those above if it has none."""
    found = [each.strip() for each in re.split(r"(?<=[.!?。！？])\s+|\n+", text[:MAX_CHARACTERS])]
    return tuple(each for each in found if each)[:MAX_SENTENCES] or SENTENCES


def filled_up(lm: LanguageModel, sentences: tuple[str, ...], tokens: int) -> list[str]:
    """Sentences in order, from the start again where they end, of at most ``tokens`` tokens together.

    The first is always there: shorter than one sentence is no filler.
    """
    lengths = [max(1, len(ids)) for ids in lm.tokenizer([f" {each}" for each in sentences])["input_ids"]]
    chosen: list[str] = []
    total = 0
    for sentence, length in cycle(zip(sentences, lengths, strict=True)):
        total += length
        if chosen and total > tokens:
            return chosen
        chosen.append(sentence)
        if total > tokens:
            return chosen
