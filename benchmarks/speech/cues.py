"""Subtitle cues of whole books: how long, how wide and how quick to read they are, and where they are cut.

    python benchmarks/speech/cues.py BOOK.txt [BOOK.epub ...]

The book is read and segmented as a worker does it. Nothing is spoken: every sentence takes what its text takes at 14
speech units a second, with the default pauses between segments. `segment` is a cue for each segment, as it was once.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a script from a clone

from reading.documents.by_format import read_document
from reading.estimates import UNITS_PER_S, speech_units
from reading.languages.function_words import FUNCTION_WORDS
from reading.plan.plan import PlannedSegment
from reading.segmenting.lengths import Segmentation
from reading.segmenting.segmentation import segment_script
from rhapsode.contract.jobs.input import DocumentFormat, Pauses
from storage.segments.results import SegmentResult
from storage.segments.timeline import MARGIN_S, place_segments, spoken_span
from worker.assembly.timed_text.cues import Cue, columns, cues
from worker.assembly.timed_text.heard_sentences import heard_sentences
from worker.assembly.timed_text.word_times import TimedSegment, shared

RATE_HZ = 24_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", nargs="+", type=Path)
    for book in parser.parse_args().books:
        _print_book(book)


def _print_book(book: Path) -> None:
    """Of an English book: the language tells which words a line should not end with."""
    script = read_document(book.read_bytes(), DocumentFormat(book.suffix.lstrip(".")))
    segments = segment_script(script, Segmentation(), Pauses()).segments
    placed = place_segments(segments, [_result(each) for each in segments], RATE_HZ)
    started_s = time.process_time()
    timed = [TimedSegment(None, shared(each.planned.sentences, spoken_span(each, RATE_HZ))) for each in placed]
    found = list(cues(heard_sentences(placed, timed, "english"), names_speakers=False))
    spent_s = time.process_time() - started_s
    hours = placed[-1].end / RATE_HZ / 3600
    print(f"{book.name}: {hours:.1f} h of speech, {len(found):,} cues in {spent_s:.1f} s of CPU")
    print(f"{'':<9}{'columns p50':>12}{'p99':>6}{'max':>6}{'seconds p50':>13}{'p99':>6}{'max':>6}", end="")
    print(f"{'columns/s p50':>15}{'p99':>6}")
    _print_row("cue", [_text(cue) for cue in found], [cue.span.duration_s for cue in found])
    _print_row("segment", [" ".join(each.written.split()) for each in segments], [_speech_s(each) for each in segments])
    ends = Counter(_ending(_text(cue)) for cue in found)
    print("  ".join(f"{name} {number / len(found):.1%}" for name, number in ends.most_common()), "\n")


def _print_row(name: str, texts: Sequence[str], seconds: Sequence[float]) -> None:
    widths = np.array([columns(text) for text in texts])
    durations = np.array(seconds)
    rates = widths / durations
    print(
        f"{name:<9}{np.median(widths):>12.0f}{np.percentile(widths, 99):>6.0f}{widths.max():>6}"
        f"{np.median(durations):>13.1f}{np.percentile(durations, 99):>6.1f}{durations.max():>6.1f}"
        f"{np.median(rates):>15.1f}{np.percentile(rates, 99):>6.1f}"
    )


def _ending(text: str) -> str:
    if re.search(r"[.!?…][\"'”’»)\]]*$", text):
        return "sentence"
    if re.search(r"[;:—–][\"'”’»)\]]*$", text):
        return "clause"
    if re.search(r",[\"'”’»)\]]*$", text):
        return "comma"
    return "function word" if text.split()[-1].lower() in FUNCTION_WORDS["english"] else "other word"


def _text(cue: Cue) -> str:
    return " ".join("".join(word.space + word.text for word in line).strip() for line in cue.lines)


def _speech_s(segment: PlannedSegment) -> float:
    return max(0.1, speech_units(segment.text) / UNITS_PER_S)


def _result(segment: PlannedSegment) -> SegmentResult:
    num_samples = round((_speech_s(segment) + 2 * MARGIN_S) * RATE_HZ)
    return SegmentResult(segment.index, 1, num_samples, "")


if __name__ == "__main__":
    main()
