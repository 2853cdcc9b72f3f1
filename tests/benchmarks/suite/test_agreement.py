"""A run of the public suite is heard again at the times that it recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.suite.agreement import FIGURES, heard_again
from tests.rhapsode.bench.server.speech_servers import RATE_HZ, SILENCE, SILENCE_S, TONE

SENT_NS = 2_000_000_000


def write_result(folder: Path, piece_ns: tuple[int, ...], phase: str = "measurement", success: bool = True) -> None:
    """One request with as many pieces of 0.1 s: silence first. As the suite's files have it, in what is looked at."""
    pieces = [SILENCE, *[TONE] * (len(piece_ns) - 1)]
    (folder / "one.response").write_bytes(b"".join(pieces))
    events = [
        {
            "type": "response.body_chunk",
            "request_id": "r",
            "elapsed_ns": SENT_NS + at,
            "data": {"pcm_bytes": len(piece)},
        }
        for at, piece in zip(piece_ns, pieces, strict=True)
    ]
    other = {"type": "response.headers", "request_id": "r", "elapsed_ns": SENT_NS, "data": {"status": 200}}
    (folder / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in (other, *events)))
    request = {
        "request_id": "r",
        "phase": phase,
        "success": success,
        "raw_audio_path": "one.response",
        "dispatch_elapsed_ns": SENT_NS,
        "first_body_elapsed_ns": SENT_NS + piece_ns[0],
        "completed_elapsed_ns": SENT_NS + piece_ns[-1],
        "pcm_format": {"channels": 1, "sample_rate_hz": RATE_HZ, "sample_width_bytes": 2} if success else None,
        "playback": {"first_audible_elapsed_ns": SENT_NS + piece_ns[0] + 90_000_000, "underruns": [{}]},
    }
    (folder / "requests.jsonl").write_text(json.dumps(request) + "\n")


def test_both_tell_the_same_of_the_same_pieces(tmp_path: Path) -> None:
    write_result(tmp_path, (50_000_000, 100_000_000, 400_000_000))

    (pair,) = heard_again(tmp_path)

    told = {figure.name: (figure.ours(pair), figure.theirs(pair)) for figure in FIGURES}
    assert told["first byte"] == (pytest.approx(0.05), pytest.approx(0.05))
    assert told["first sound"] == (pytest.approx(0.05 + SILENCE_S, abs=0.011), pytest.approx(0.14))
    assert told["whole"] == (pytest.approx(0.4), pytest.approx(0.4))
    assert pair.ear.playback.gaps == len(pair.request.playback.underruns) == 1


def test_what_failed_or_came_before_the_measurement_is_left_out(tmp_path: Path) -> None:
    write_result(tmp_path, (50_000_000, 100_000_000), phase="warmup")
    assert heard_again(tmp_path) == []
    write_result(tmp_path, (50_000_000, 100_000_000), success=False)
    assert heard_again(tmp_path) == []
