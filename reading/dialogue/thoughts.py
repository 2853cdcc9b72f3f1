"""Finds thoughts: what a novel sets in italics as a sentence, or as a clause with a tag (`she thought`). English. Pure.

Titles, foreign words, stressed words, letters and signs are set in italics too: what is not surely a thought is none.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby

from reading.cleaning.cleaning import find_italics
from reading.dialogue.quotations import Quotation, Span
from reading.languages.function_words import FUNCTION_WORDS
from reading.languages.vocabulary import SPEECH_VERBS, words

_THOUGHT = r"(?:th(?:ought|inks?)|wonder(?:ed|s)|mused|reflected|realized|realised|reasoned|decided|prayed)"
_SELF = r"(?:him|her|my|it|one|them)sel(?:f|ves)"
_SAID = "|".join(sorted(SPEECH_VERBS - words("thought thinks think wondered mused reflected reasoned prayed put")))
_SUBJECT = r"\s(?:[\w’'.-]{1,20}\s)"
_TAG_AFTER = re.compile(rf"[_*,!?…—-]{{0,4}}{_SUBJECT}{{0,3}}?(?:{_THOUGHT}\b|(?:{_SAID})\s(?:to\s)?{_SELF}\b)")
_TOLD_AFTER = re.compile(rf"[_*,.!?…—-]{{0,4}}{_SUBJECT}{{0,6}}?{_THOUGHT}\b")
"""Behind a whole sentence: `He smiled at the thought.`"""
_TAG_BEFORE = re.compile(
    rf"\b(?:{_THOUGHT}|(?:{_SAID})\s(?:to\s)?{_SELF})\b[^.!?;:\"”]{{0,60}}?[,:—-]{{1,2}}\s{{0,4}}$"
)
_SAID_BEFORE = re.compile(rf"\b(?:{_SAID})\b[^.!?;:\"”]{{0,30}}?[,:]\s{{0,4}}$")
_SPOKEN_ALOUD = re.compile(rf"[_*,.!?…—-]{{0,4}}{_SUBJECT}{{0,2}}?(?:{_SAID})\b")
_WRITTEN = re.compile(
    r"\b(?:read|reads|reading|wrote|written|writing|letter|note|message|card|sign|signs|notice|label|labell?ed|headline"
    r"|inscription|inscribed|printed|title|called|telegram|wired|cabled|poster|scribbled|scrawled|typed|voices?|whisper(?:s|ed|ing)?|song|sang|singing|verse|motto|words?|lines?)\b",
    re.IGNORECASE,
)
_STARTS = re.compile(r"(?:[.!?…:;\])”\"’'—-]|^)[\s_*]{0,4}$")
_ENDS = re.compile(r"[.!?…—-]$")
_CLOSED = re.compile(r"[.!?…:;,—-][\"'”’_*]{0,2}$")
_MARK = re.compile(r"[.,!?;…]{1,3}")
"""Behind the italics; it belongs to their sentence."""
_WORD = re.compile(r"[^\W\d_]+(?:[’'][^\W\d_]+)?")
_PART = re.compile(r"[^\W\d_]+")
_GAP = re.compile(r"\s?[\w’'-]{1,15}[.,!?]?\s?")
_PERSONAL = words("i me my mine myself we us our you your yours")
_DIRECT = _PERSONAL | words(
    "am is are isn aren can cannot don doesn won must shall will let does do has have ll ve m re"
)
"""Words of what people think, in the first and second person or the present. A narrator uses the past."""
_MARGIN = 80
_MOST_WORDS = 100
_MOST_PARAGRAPHS = 2
"""In italics as a whole, one behind another: more are a letter, a dream, verse."""
_SMALL_IN_TITLES = words("a an and as at but by de for from in into la le of on or the to von with")


def thoughts(
    text: str, paragraphs: Sequence[Span], spoken: Sequence[Quotation], italics: Sequence[Span]
) -> list[Quotation]:
    """In order. spoken: what stands in quotation marks, with all that is within. italics: of a document's markup."""
    placed = _placed(paragraphs, _joined(text, sorted({*italics, *find_italics(text)})))
    in_crowds = _crowds(text, paragraphs, placed)
    quoted = [each.end for each in spoken]
    found: list[Quotation] = []
    for index, (start, end) in placed:
        at = bisect_left(quoted, start + 1)
        is_spoken = at < len(spoken) and spoken[at].start < end
        behind = found[-1] if found and start - found[-1].end < _MARGIN else None
        goes_on = behind is not None and (behind.paragraph == index or not text[behind.end : start].strip())
        if (
            index not in in_crowds
            and not is_spoken
            and _is_thought(text, paragraphs, index, (start, end), goes_on=goes_on)
        ):
            mark = _MARK.match(text, end, paragraphs[index][1])
            continues = behind is not None and goes_on and behind.paragraph < index
            found.append(Quotation(start, mark.end() if mark else end, index, continues, is_thought=True))
    return found


def _placed(paragraphs: Sequence[Span], found: Iterable[Span]) -> list[tuple[int, Span]]:
    """Cut at the ends of paragraphs, each part with its paragraph's index."""
    ends = [end for _, end in paragraphs]
    placed: list[tuple[int, Span]] = []
    for start, end in found:
        for index in range(bisect_left(ends, start + 1), len(paragraphs)):
            first, last = paragraphs[index]
            if first >= end:
                break
            placed.append((index, (max(first, start), min(last, end))))
    return placed


def _joined(text: str, found: Sequence[Span]) -> Sequence[Span]:
    """Without what overlaps; one word between two stretches is stressed, and one of them."""
    result: list[Span] = []
    for start, end in found:
        at = result[-1][1] if result else 0
        if result and start >= at and _GAP.fullmatch(text, at, start) and "\n\n" not in text[at:start]:
            result[-1] = result[-1][0], end
        elif start >= at:
            result.append((start, end))
    return result


def _crowds(text: str, paragraphs: Sequence[Span], placed: Sequence[tuple[int, Span]]) -> set[int]:
    """Paragraphs in italics as a whole, of which too many stand together."""
    whole: list[int] = []
    for index, spans in groupby(placed, key=lambda each: each[0]):
        at, end = paragraphs[index]
        bounds = [at, *(bound for _, span in spans for bound in span), end]
        if not any(any(map(str.isalnum, text[a:b])) for a, b in zip(bounds[::2], bounds[1::2], strict=True)):
            whole.append(index)
    runs = ([index for _, index in run] for _, run in groupby(enumerate(whole), key=lambda each: each[1] - each[0]))
    return {index for run in runs if len(run) > _MOST_PARAGRAPHS for index in run}


def _is_thought(text: str, paragraphs: Sequence[Span], index: int, span: Span, *, goes_on: bool) -> bool:
    """goes_on: another stands just before, in the same paragraph."""
    start, end = span
    first, last = paragraphs[index]
    inside = text[start:end].strip("_* \n")
    before, after = text[max(first, start - _MARGIN) : start], text[end : min(last, end + _MARGIN)]
    found = _WORD.findall(inside)
    if not found:
        return False
    is_plain = not _is_title(found) and _is_english(inside)
    is_begun = _STARTS.search(before) is not None
    is_tagged = bool(_TAG_AFTER.match(after) or _TAG_BEFORE.search(before))
    if is_tagged and (is_begun or (is_plain and len(found) > 1) or inside[-1] in ".!?"):
        return True
    if not (is_plain or goes_on) or _SAID_BEFORE.search(before) or before.endswith(("(", "[")):
        return False
    is_whole = not inside[0].islower() and is_begun and (_ENDS.search(inside) or _ENDS.match(after[:1]))
    if (
        not is_whole
        or len(found) > _MOST_WORDS
        or _SPOKEN_ALOUD.match(after)
        or _is_written(text, paragraphs, index, before)
    ):
        return False
    if goes_on or _TOLD_AFTER.match(after):
        return True
    parts = {part.lower() for part in _PART.findall(inside)}
    asks = inside[-1] in "!?" or after.startswith(("!", "?"))
    if not before.strip() and not after.strip(" .!?…"):
        return _is_amid(text, paragraphs, index) and (asks or not _PERSONAL.isdisjoint(parts))
    return len(found) > 1 and (asks or not _DIRECT.isdisjoint(parts))


def _is_written(text: str, paragraphs: Sequence[Span], index: int, before: str) -> bool:
    """What leads to it says that it is a letter, a sign or a song."""
    if before.strip():
        return _WRITTEN.search(before) is not None
    lead_in = text[paragraphs[index - 1][0] : paragraphs[index - 1][1]][-_MARGIN:] if index else ""
    return lead_in.endswith(":") and _WRITTEN.search(lead_in) is not None


def _is_amid(text: str, paragraphs: Sequence[Span], index: int) -> bool:
    """Whether the paragraph stands between two others, not beside a heading or a break."""
    if not 0 < index < len(paragraphs) - 1:
        return False
    (a, b), (start, end), (c, d) = paragraphs[index - 1 : index + 2]
    beside = text[b:start] + text[end:c]
    return not any(map(str.isalnum, beside)) and all(_CLOSED.search(text[x:y][-3:]) for x, y in ((a, b), (c, d)))


def _is_title(found: Sequence[str]) -> bool:
    """All words but the smallest begin with a capital."""
    large = [word for word in found if word[0].isupper() and word != "I"]
    return len(large) > 1 and all(word[0].isupper() or word in _SMALL_IN_TITLES for word in found)


def _is_english(inside: str) -> bool:
    """It has more common words of English than of any other language."""
    parts = [part.lower() for part in _PART.findall(inside)]
    counts = {name: sum(part in known for part in parts) for name, known in FUNCTION_WORDS.items()}
    return counts["english"] > 0 and counts["english"] == max(counts.values())
