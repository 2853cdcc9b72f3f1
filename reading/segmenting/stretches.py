"""Stretches of a script on their way to segments, and which of them are too short to be spoken alone. Pure.

This happens only when a job sets a minimum length. Then a shorter stretch is spoken with a neighbour, also across the
end of a paragraph. Some models make noise of a single word. Between them the model pauses as it does after any
sentence, and the typed pause falls away. Headings, turns of another speaker, entries of a caller's list, chapters and
pauses that were asked for stay what they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reading.estimates import SYLLABIC, speech_units
from reading.plan.plan import closed
from reading.script.script import Voicing
from reading.segmenting.lengths import LengthRules
from reading.segmenting.pieces import StretchEnd
from rhapsode.contract.words import is_speakable

_UNSPACED_LETTER = re.compile(rf"(?![가-힣])[{SYLLABIC}]")
_UNSPACED_STOPS = "。！？｡"
_UNSPACED_CLOSING = "」』）】》〉”’"
_JOINED_OVER = frozenset({StretchEnd.LINE, StretchEnd.SENTENCE, StretchEnd.PARAGRAPH})


@dataclass(frozen=True, slots=True)
class Stretch:
    """[start, end) of the script's text, spoken as `spoken`.

    breaks: where its second sentence begins, in the script's text and in `spoken`, and so on for those after it.
    first: where it began before it took in neighbours that are not spoken. explicit_s: a pause that the input asks for.
    """

    start: int
    end: int
    spoken: str
    voicing: Voicing
    ending: StretchEnd
    pause_s: float
    explicit_s: float | None
    first: int
    breaks: tuple[tuple[int, int], ...] = ()


def join_short(stretches: Iterable[Stretch], segmentation: LengthRules, chapter_starts: Sequence[int]) -> list[Stretch]:
    """The stretches, with those that are too short joined to the one before, else to the one behind.

    chapter_starts: positions in the script, in order. Nothing becomes longer than a segment may be.
    """
    kept: list[Stretch] = []
    is_joined = False
    for each in stretches:
        # A run of short ones grows up to the target; a long one takes in a single short one beyond it.
        cap = segmentation.target_chars if is_joined else segmentation.max_chars
        is_joined = bool(kept) and _is_better_joined(kept[-1], each, cap, segmentation, chapter_starts)
        if is_joined:
            kept[-1] = _joined(kept[-1], each)
        else:
            kept.append(each)
    return kept


def _is_better_joined(
    last: Stretch, each: Stretch, cap: int, segmentation: LengthRules, chapter_starts: Sequence[int]
) -> bool:
    if min(speech_units(last.spoken), speech_units(each.spoken)) >= segmentation.min_chars:
        return False
    if not _is_one_voice(last, each, chapter_starts):
        return False
    spoken = _spoken_together(last, each)
    if segmentation.max_bytes is not None and len(spoken.encode()) > segmentation.max_bytes:
        return False
    return speech_units(spoken) <= cap


def _is_one_voice(last: Stretch, each: Stretch, chapter_starts: Sequence[int]) -> bool:
    """Whether nothing but the end of a sentence or a paragraph lies between them."""
    return (
        last.ending in _JOINED_OVER
        and last.explicit_s is None
        and last.voicing == each.voicing
        and each.ending is not StretchEnd.HEADING
        and is_speakable(last.spoken)
        and is_speakable(each.spoken)
        and bisect_right(chapter_starts, last.first) == bisect_right(chapter_starts, each.first)
    )


def _joined(last: Stretch, each: Stretch) -> Stretch:
    spoken = _spoken_together(last, each)
    shift = len(spoken) - len(each.spoken)
    moved = ((source, said + shift) for source, said in each.breaks)
    breaks = (*last.breaks, (each.start, shift), *moved)
    return replace(each, start=last.start, first=last.first, spoken=spoken, breaks=breaks)


def _spoken_together(last: Stretch, each: Stretch) -> str:
    said = closed(last.spoken)
    return f"{said}{'' if _ends_unspaced(said) else ' '}{each.spoken}"


def _ends_unspaced(said: str) -> bool:
    """Whether it ends in a script that puts no spaces between sentences."""
    sentence = said.rstrip(_UNSPACED_CLOSING)
    words = sentence.rstrip(f"{_UNSPACED_STOPS}…")
    has_stop = any(mark in _UNSPACED_STOPS for mark in sentence[len(words) :])
    return has_stop or _UNSPACED_LETTER.match(words[-1:]) is not None
