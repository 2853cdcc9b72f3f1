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
    yield "A recogniser mishears, too: compare servers by its figures, on the same texts, and not with zero."
    if quality.not_counted:
        yield f"Words were not counted: {quality.not_counted}"
    failed = [each.error for each in quality.samples if each.error is not None]
    yield from (f"FAILED  quality: {failed.count(error)} × {error}" for error in dict.fromkeys(failed))


def _row(name: str, samples: Sequence[Sample]) -> list[str]:
    judged = [each.judged for each in samples if each.judged is not None]
    words, errors = sum(each.words or 0 for each in judged), sum(each.errors or 0 for each in judged)
    compared = [each.is_same_again for each in samples if each.is_same_again is not None]
    return [
        name,
        f"{len(samples)}",
        f"{words}",
        f"{100 * errors / words:.1f} %" if words else _NOTHING,
        _pace(judged, words),
        _span([each.loudness_db for each in judged]),
        f"{sum(each.clipped_share > 0 for each in judged)}",
        f"{max((each.longest_pause_s for each in judged), default=0.0):.2f}",
        f"{sum(compared)} of {len(compared)}",
    ]


def _pace(judged: Sequence[Judged], words: int) -> str:
    seconds = sum(each.speech_s for each in judged if each.words is not None)
    return f"{words / seconds:.2f}" if words and seconds else _NOTHING


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else _NOTHING
