"""Measures audio files and holds them against a preset: `python -m worker.speech.mastering [--preset acx] FILE ...`.

Behind `rhapsode check`. Ends with 1 if a file does not meet what is asked, with 2 if one cannot be read.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rhapsode.contract.jobs.presets import PRESETS, OutputPreset, Preset
from worker.speech.mastering.checking import Figure, figures, unlike
from worker.speech.mastering.measuring import FileMeasures, NotAudio, measure_file

MISSED = 1
UNREADABLE = 2


def main() -> int:
    options = _options()
    preset = PRESETS[OutputPreset(options.preset)] if options.preset else Preset()
    measured: list[FileMeasures] = []
    reports: list[tuple[Path, tuple[Figure, ...]]] = []
    for path in options.files:
        try:
            measured.append(measure_file(path))
        except (NotAudio, OSError) as error:
            sys.stderr.write(f"rhapsode: {error}\n")
            return UNREADABLE
        reports.append((path, figures(measured[-1], preset)))
        if not options.json:
            _tell(*reports[-1])
    differences = unlike(measured) if options.preset else ()
    if options.json:
        _say(json.dumps(_document(reports, differences), ensure_ascii=False, indent=1))
    for line in () if options.json else _verdict(reports, differences, options.preset):
        _say(line)
    return MISSED if differences or any(_missed(found) for _, found in reports) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--preset", choices=[*PRESETS], help="what the files are held against; else they are measured")
    parser.add_argument("--json", action="store_true", help="every figure, for programs")
    return parser.parse_args()


def _tell(path: Path, found: Sequence[Figure]) -> None:
    _say(path.name)
    width = max(len(each.name) for each in found)
    for each in found:
        mark = {None: " ", True: "+", False: "x"}[each.is_met]
        asked = f"  ({each.asked})" if each.asked else ""
        _say(f"  {mark} {each.name:<{width}}  {each.found}{asked}")


def _missed(found: Sequence[Figure]) -> int:
    return sum(each.is_met is False for each in found)


def _verdict(
    reports: Sequence[tuple[Path, Sequence[Figure]]], differences: Sequence[str], preset: str | None
) -> Iterator[str]:
    yield from differences
    if preset:
        failing = sum(_missed(found) > 0 for _, found in reports)
        told = f"{failing} of {len(reports)} do not pass" if failing else f"{len(reports)} of {len(reports)} pass"
        yield f"{told} {preset}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _document(reports: Sequence[tuple[Path, Sequence[Figure]]], differences: Sequence[str]) -> dict[str, object]:
    files = [{"file": str(path), "figures": [asdict(each) for each in found]} for path, found in reports]
    return {"files": files, "differences": list(differences)}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        # The command in front of this process hears of it as well, and says so.
        sys.exit(128 + signal.SIGINT)
