"""What became of a segment, as its job keeps it: one short line in Redis for each. Pure.

    D<fence>:<samples>:<chars>:<attempts>:<reused>:<take>:<sha256>:<seed>:<finish>:<loudness>:<flags>

sha256 in base64 (43 characters), reused 0 or 1, loudness in hundredths of a LUFS or empty, flags with commas between.
The scripts read the line too (`take_back_result`): numbers that are counted come first.

Behind the digest of a segment that lies in a pack stand a "=" and its place there. Releases that know no packs read a
digest up to the "=", so that they count the segment as it is and take it for one that the store has lost. Behind the
finish stand a "=" and the words whose sound was guessed, with commas between; releases before show them with it.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from rhapsode.contract.jobs.quality import SEGMENT_QUALITY
from storage.segments.packs import PackPlace, decode_place, encode_place

LEFT_OUT = "left_out"
"""How a segment finished that its user left out: it is short silence, and no pause follows."""

SILENCED = "silenced"
"""The flag of a segment in whose place silence stands: a gap."""

_FIELDS_OF_BEFORE = 3
"""Releases without a quality gate kept fence, samples and sha256 alone."""


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """A finished segment as the job's record keeps it; `storage.objects.stored_segments` knows where it lies.

    attempts: number of attempts at this result, 0 for one that was `reused`. flags: names of what the quality gate
    found and could not cure; empty for a segment that passed. loudness_lufs: of its samples, None where that is not
    defined. take: which of the segment's takes this is, 1 for the first. place: None for a separate object, whose key
    follows from index and fence. guessed: words whose sound the engine guessed, as far as it knows.
    """

    index: int
    fence: int
    num_samples: int
    sha256: str
    num_chars: int = 0
    finish_reason: str = "eos"
    seed: int = 0
    attempts: int = 1
    reused: bool = False
    take: int = 1
    loudness_lufs: float | None = None
    flags: tuple[str, ...] = ()
    place: PackPlace | None = None
    guessed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """What a worker says about a segment it finished; the fields of `SegmentResult`, and what the job sums up.

    engine_ms: of all attempts together. reuse_id: the content under which other jobs may find it, "" if none may.
    warning: why a segment with flags was kept, under the public contract's warning_code. stored_bytes: of the object,
    or of what it takes in its pack.
    """

    num_samples: int
    sample_rate_hz: int
    num_chars: int
    sha256: str
    finish_reason: str
    engine_ms: int
    seed: int = 0
    attempts: int = 1
    reused: bool = False
    take: int = 1
    loudness_lufs: float | None = None
    flags: tuple[str, ...] = ()
    warning: str = ""
    warning_code: str = SEGMENT_QUALITY
    reuse_id: str = ""
    stored_bytes: int = 0
    place: PackPlace | None = None
    guessed: tuple[str, ...] = ()


def encode_report(report: SegmentReport) -> str:
    """The line without its `D<fence>:`."""
    loudness = "" if report.loudness_lufs is None else str(round(report.loudness_lufs * 100))
    parts = (
        report.num_samples,
        report.num_chars,
        report.attempts,
        int(report.reused),
        report.take,
        pack_sha256(report.sha256) + (f"={encode_place(report.place)}" if report.place else ""),
        report.seed,
        report.finish_reason + (f"={','.join(report.guessed)}" if report.guessed else ""),
        loudness,
        ",".join(report.flags),
    )
    return ":".join(str(part) for part in parts)


def decode_segment_result(index: str, value: str) -> SegmentResult:
    """`value` is a whole line, of this release or of one before it."""
    fields = value.removeprefix("D").split(":")
    if len(fields) == _FIELDS_OF_BEFORE:
        fence, samples, packed = fields
        return SegmentResult(int(index), int(fence), int(samples), unpack_sha256(packed))
    fence, samples, chars, attempts, reused, take, found, seed, finish, loudness, flags = fields
    packed, _, place = found.partition("=")
    reason, _, guessed = finish.partition("=")
    return SegmentResult(
        index=int(index),
        fence=int(fence),
        num_samples=int(samples),
        sha256=unpack_sha256(packed),
        num_chars=int(chars),
        finish_reason=reason,
        seed=int(seed),
        attempts=int(attempts),
        reused=reused == "1",
        take=int(take),
        loudness_lufs=int(loudness) / 100 if loudness else None,
        flags=tuple(flags.split(",")) if flags else (),
        place=decode_place(place) if place else None,
        guessed=tuple(guessed.split(",")) if guessed else (),
    )


def pack_sha256(sha256: str) -> str:
    """43 characters for 64: with thousands of segments the digests are most of a job's memory."""
    try:
        digest = bytes.fromhex(sha256)
    except ValueError as error:
        raise ValueError(f"not a hex digest: {sha256!r}") from error
    if len(digest) != 32:
        raise ValueError(f"not a sha256: {sha256!r}")
    return base64.b64encode(digest).decode().rstrip("=")


def unpack_sha256(packed: str) -> str:
    """The 64 hex digits of what `pack_sha256` made."""
    return binascii.a2b_base64(f"{packed}=").hex()
