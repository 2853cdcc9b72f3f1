"""Segments and takes as the API answers with them."""

from __future__ import annotations

import enum

from pydantic import Field

from rhapsode.client.resources import Resource


class SegmentState(enum.StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class TriedAttempt(Resource):
    """One attempt at a segment. temperature: 0 took the most likely codes. parts: pieces that the text was spoken in.

    findings: names of what was found, none for the attempt that passed; reasons: the same in plain words. audio: where
    an attempt at a segment that failed is to be heard.
    """

    attempt: int
    seed: int
    temperature: float = 0.0
    parts: int = 1
    findings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    checks: dict[str, float] = Field(default_factory=dict[str, float])
    audio: str | None = None


class Segment(Resource):
    """One stretch of a narration; what tells of its audio is None while it is not done.

    take: the one in place or being made, of `takes`. start_s: where it is heard, None until everything before is done.
    findings: what the quality gate found and could not cure. checks: what it measured, by name; tried: every attempt;
    both None in lists.
    """

    id: str
    index: int
    source_id: str = ""
    chapter: int = 0
    text: str
    edited: bool = False
    speaker: str = ""
    voice: str = ""
    language: str = ""
    instructions: str = ""
    state: SegmentState
    take: int = 1
    takes: int = 1
    attempts: int | None = None
    seed_used: int | None = None
    finish_reason: str | None = None
    start_s: float | None = None
    duration_s: float | None = None
    pause_after_s: float = 0.0
    chars_per_s: float | None = None
    loudness_lufs: float | None = None
    checks: dict[str, float] | None = None
    findings: tuple[str, ...] = ()
    tried: tuple[TriedAttempt, ...] | None = None
    flagged: bool = False
    reused: bool = False
    sha256: str | None = None


class SegmentPage(Resource):
    data: tuple[Segment, ...]
    has_more: bool = False
    next_cursor: str | None = None


class Take(Resource):
    """A finished version of a segment; the narration has the one that is `selected`."""

    take: int
    selected: bool
    text: str
    speaker: str = ""
    language: str = ""
    instructions: str = ""
    seed_used: int
    attempts: int = 1
    finish_reason: str = ""
    duration_s: float | None = None
    findings: tuple[str, ...] = ()
    flagged: bool = False
    sha256: str = ""


class TakeList(Resource):
    data: tuple[Take, ...]
