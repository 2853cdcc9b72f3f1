"""What was heard of a server, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rhapsode.bench.server.orders import Level
from rhapsode.bench.server.quality import Quality, Sample
from worker.speech.judging.messages import Judged

_NOTHING = "-"


def quality_rows(quality: Quality) -> list[list[str]]:
    """Heads first; a row for each length of text, and one for all."""
    heads = [
        "heard",
        "texts",
        "words",
        "wrong",
        "letters wrong",
        "loops",
        "cut short",
        "likeness",
        "distillMOS",
        "words/s",
        "loudness dB",
        "clipped",
        "longest pause s",
        "the same again",
    ]
    levels = [(level, [each for each in quality.samples if each.level is level]) for level in Level]
    return [heads, *(_row(name, samples) for name, samples in (*levels, ("all", list(quality.samples))) if samples)]


def quality_verdicts(quality: Quality) -> Iterator[str]:
    """How far the figures can be trusted, and what failed."""
    yield "A recogniser mishears, too, and loops on its own: compare servers on the same texts, and not with zero."
    yield from (f"Not judged: {each}" for each in quality.not_judged)
    failed = [each.error for each in quality.samples if each.error is not None]
    yield from (f"FAILED  quality: {failed.count(error)} × {error}" for error in dict.fromkeys(failed))


def _row(name: str, samples: Sequence[Sample]) -> list[str]:
    judged = [each.judged for each in samples if each.judged is not None]
    words = sum(each.words or 0 for each in judged)
    compared = [each.is_same_again for each in samples if each.is_same_again is not None]
    return [
        name,
        f"{len(samples)}",
        f"{words}",
        _share(sum(each.errors or 0 for each in judged), words),
        _share(sum(each.character_errors or 0 for each in judged), sum(each.characters or 0 for each in judged)),
        _count([each.is_looped for each in judged]),
        _count([each.is_cut for each in judged]),
        _mean([each.likeness for each in samples]),
        _mean([each.mos for each in judged]),
        _pace(judged, words),
        _span([each.loudness_db for each in judged]),
        f"{sum(each.clipped_share > 0 for each in judged)}",
        f"{max((each.longest_pause_s for each in judged), default=0.0):.2f}",
        f"{sum(compared)} of {len(compared)}",
    ]


def _share(errors: int, of: int) -> str:
    return f"{100 * errors / of:.1f} %" if of else _NOTHING


def _count(found: Sequence[bool | None]) -> str:
    known = [each for each in found if each is not None]
    return f"{sum(known)}" if known else _NOTHING


def _mean(values: Sequence[float | None]) -> str:
    known = [each for each in values if each is not None]
    return f"{sum(known) / len(known):.2f}" if known else _NOTHING


def _pace(judged: Sequence[Judged], words: int) -> str:
    seconds = sum(each.speech_s for each in judged if each.words is not None)
    return f"{words / seconds:.2f}" if words and seconds else _NOTHING


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else _NOTHING
