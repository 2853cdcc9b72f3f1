"""Whether `rhapsode bench --url` hears what the public suite of this model family hears (`tts_bench` of nari-labs).

    python benchmarks/suite/agreement.py RESULT_DIR...

A result of that suite has every piece of every answer with its time. The pieces are evaluated here again, by the audio
analysis of `rhapsode bench` and at those times. So both judge the same requests, and only the definitions differ. For
each figure: the medians and 95th percentiles of both, and the largest difference of one request.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, JsonValue

from rhapsode.bench.server.listening import CountedWindow, Ear
from rhapsode.bench.statistics import percentile

_MEASURED = "measurement"
_NS = 1e-9


class _Playback(BaseModel):
    first_audible_elapsed_ns: int | None
    underruns: list[JsonValue]


class _Request(BaseModel):
    """A line of requests.jsonl, as far as it is looked at."""

    request_id: str
    phase: str
    success: bool
    raw_audio_path: str
    dispatch_elapsed_ns: int
    first_body_elapsed_ns: int | None
    completed_elapsed_ns: int
    pcm_format: dict[str, int] | None
    playback: _Playback


class _Event(BaseModel):
    type: str
    request_id: str
    elapsed_ns: int
    data: dict[str, JsonValue]


@dataclass(slots=True)
class _Clock:
    now_s: float

    def __call__(self) -> float:
        return self.now_s


@dataclass(frozen=True, slots=True)
class Pair:
    """One request as both measured it. None: not reported."""

    request: _Request
    ear: Ear

    @property
    def sent_s(self) -> float:
        return _NS * self.request.dispatch_elapsed_ns


@dataclass(frozen=True, slots=True)
class Figure:
    """Seconds of one request, by both."""

    name: str
    ours: Callable[[Pair], float | None]
    theirs: Callable[[Pair], float | None]


FIGURES = (
    Figure(
        "first byte",
        lambda pair: _since(pair, pair.ear.first_byte_s),
        lambda pair: _since_ns(pair, pair.request.first_body_elapsed_ns),
    ),
    Figure(
        "first sound",
        lambda pair: _since(pair, pair.ear.audible_s),
        lambda pair: _since_ns(pair, pair.request.playback.first_audible_elapsed_ns),
    ),
    Figure(
        "whole",
        lambda pair: _since(pair, pair.ear.end_s),
        lambda pair: _since_ns(pair, pair.request.completed_elapsed_ns),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULT_DIR", help="what its --output named")
    for folder in parser.parse_args().results:
        _tell(folder)


def _tell(folder: Path) -> None:
    pairs = heard_again(folder)
    if not pairs:
        print(f"{folder.name}: no request was whole")
        return
    print(f"{len(pairs)} requests, heard again; ms: ours p50, p95, theirs p50, p95, most of one request")
    for figure in FIGURES:
        known = [
            (ours, theirs)
            for pair in pairs
            if (ours := figure.ours(pair)) is not None and (theirs := figure.theirs(pair)) is not None
        ]
        ours, theirs = ([each[which] for each in known] for which in (0, 1))
        if not known:
            print(f"{figure.name:<12} of no request by both")
            continue
        most = max(abs(one - other) for one, other in known)
        cells = [percentile(values, share) for values in (ours, theirs) for share in (0.5, 0.95)]
        print(f"{figure.name:<12}", *(f"{1000 * cell:>9.1f}" for cell in (*cells, most)))
    holes = sum(pair.ear.playback.gaps > 0 for pair in pairs)
    print(f"{'with a hole':<12} ours {holes}, theirs {sum(bool(pair.request.playback.underruns) for pair in pairs)}")


def heard_again(folder: Path) -> list[Pair]:
    """The requests that succeeded within the measured time."""
    pieces: dict[str, list[tuple[float, int]]] = {}
    for line in (folder / "events.jsonl").read_text().splitlines():
        event = _Event.model_validate_json(line)
        if event.type == "response.body_chunk" and isinstance(size := event.data.get("pcm_bytes"), int):
            pieces.setdefault(event.request_id, []).append((_NS * event.elapsed_ns, size))
    requests = map(_Request.model_validate_json, (folder / "requests.jsonl").read_text().splitlines())
    return [
        Pair(each, _heard(folder / each.raw_audio_path, each, form["sample_rate_hz"], pieces.get(each.request_id, [])))
        for each in requests
        if each.phase == _MEASURED and each.success and (form := each.pcm_format)
    ]


def _heard(audio: Path, request: _Request, rate_hz: int, pieces: list[tuple[float, int]]) -> Ear:
    """At the times at which the pieces came."""
    clock = _Clock(_NS * request.dispatch_elapsed_ns)
    ear = Ear(CountedWindow(0.0, 0.0), clock=clock)
    ear.sent()
    ear.form(rate_hz)
    with audio.open("rb") as file:
        for came_s, size in pieces:
            clock.now_s = came_s
            ear.hear(file.read(size))
    clock.now_s = _NS * request.completed_elapsed_ns
    ear.end()
    return ear


def _since(pair: Pair, moment_s: float | None) -> float | None:
    return None if moment_s is None else moment_s - pair.sent_s


def _since_ns(pair: Pair, moment_ns: int | None) -> float | None:
    return _since(pair, None if moment_ns is None else _NS * moment_ns)


if __name__ == "__main__":
    main()
