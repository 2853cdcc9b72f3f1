"""The English front end: right, untouched, wrong and half-converted items of the gold file, and of one by another hand,
by class, and its speed.

    python benchmarks/speech/front_end.py [--prose FILE ...] [--show] [--changes N]

--prose: plain texts, for the speed and the count of changes in them. --show: every item that is not right. --changes:
the N commonest changes in the prose.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the gold file and its scores are the tests'

from reading.english.front_end import respell_english
from tests.reading.english.scoring import GOLD, HELD_OUT, Verdict, items_of, spoken_by

MEGABYTE = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prose", nargs="*", type=Path, default=[])
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--changes", type=int, default=0)
    arguments = parser.parse_args()
    for file in (GOLD, HELD_OUT):
        _print_items(file, show=arguments.show)
    if arguments.prose:
        _print_prose(arguments.prose, arguments.changes)


def _print_items(file: Path, *, show: bool) -> None:
    counts: Counter[tuple[str, Verdict]] = Counter()
    kinds: dict[str, None] = {}
    for item in items_of(file):
        spoken = spoken_by(respell_english, item.written)
        verdict = item.verdict(spoken)
        counts[item.kind, verdict] += 1
        kinds[item.kind] = None
        if show and verdict is not Verdict.RIGHT:
            print(f"{verdict.value:>14}  {item.kind}: {item.written!r} -> {spoken!r}")
    print(f"{file.name:<15}" + "".join(f"{verdict.value:>16}" for verdict in Verdict))
    for kind in kinds:
        print(f"{kind:<15}" + "".join(f"{counts[kind, verdict]:>16}" for verdict in Verdict))
    print(f"{'all':<15}" + "".join(f"{_all(counts, verdict):>16}" for verdict in Verdict), "\n")


def _all(counts: Counter[tuple[str, Verdict]], verdict: Verdict) -> int:
    return sum(number for (_, each), number in counts.items() if each is verdict)


def _print_prose(files: Sequence[Path], num_changes: int) -> None:
    text = "\n\n".join(file.read_text(encoding="utf-8") for file in files)
    started_s = time.process_time()
    found = list(respell_english(text, 0, len(text)))
    spent_s = time.process_time() - started_s
    rate = len(text.encode()) / MEGABYTE / spent_s
    print(f"\nprose: {len(text):,} characters, {len(found):,} changes, {rate:.1f} MB/s")
    changes = Counter((text[each.start : each.end], each.spoken) for each in found)
    for (written, spoken), number in changes.most_common(num_changes):
        print(f"{number:>6}  {written!r} -> {spoken!r}")


if __name__ == "__main__":
    main()
