"""A plan without speech, as `validate_only` answers it. `worker.planning.preview` writes it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rhapsode.contract.base import Answer


class PlannedSpeaker(Answer):
    """`name` is empty for the job's own voice."""

    name: str
    voice: str
    num_segments: int
    estimated_audio_s: float


class PlannedChapter(Answer):
    """`id` is what a document's `include` names; empty for what comes before the first chapter."""

    id: str
    title: str
    first_segment: int
    num_segments: int
    estimated_audio_s: float


class PlannedSentence(Answer):
    """`text` is what is spoken; `source` what is written, where that is something else."""

    start: int
    end: int
    text: str
    source: str | None = None


class PlannedSegment(Answer):
    """`text` is what is spoken; `source` what is written, where that is something else. What is null is left out, and
    `sentences` where the segment is one, or a part of one."""

    index: int
    start: int
    end: int
    text: str
    pause_after_s: float
    estimated_audio_s: float
    source: str | None = None
    id: str | None = None
    speaker: str | None = None
    language: str | None = None
    instructions: str | None = None
    seed: int | None = None
    speed: float | None = None
    gain_db: float | None = None
    chapter: int | None = None
    sentences: tuple[PlannedSentence, ...] | None = None


class LeftOut(Answer):
    """Unspoken parts of the input. `count`: of this kind. `first`: the place or the beginning of the first."""

    kind: str
    count: int
    first: str


class PlanWarning(Answer):
    """What will be spoken although it may sound wrong; a job that is not only planned has the same in `warnings`."""

    code: str
    detail: str


class ProposedCharacter(Answer):
    """`names`: every form in the text. `sex`: "" where the text does not tell it. `I` is who tells the story.

    `voice`: a proposal; "" for a model without built-in voices.
    """

    name: str
    names: tuple[str, ...]
    sex: Literal["male", "female", ""]
    num_lines: int
    voice: str = ""


_LineId = Annotated[str, Field(pattern="^[0-9a-f]{8}(-[0-9]{1,6})?$")]


class ProposedLine(Answer):
    """A quotation, or a thought in italics. `speaker`: "" if unknown. `probability`: of the speaker.

    `text`: its beginning.
    """

    id: _LineId
    start: int
    end: int
    speaker: str
    probability: float
    text: str
    thought: bool = False


class ProposedCast(Answer):
    """A guess for people to check. `input.lines` of a job takes it, line by line."""

    characters: tuple[ProposedCharacter, ...]
    lines: tuple[ProposedLine, ...]


class PlanDocument(Answer):
    """`estimated_render_s`: at the measured pace of the model's workers; null before anything was measured.

    `cast`: with `find_speakers`; null for a text that is not English.
    """

    format: Literal[1]
    title: str
    author: str
    language: str
    has_cover: bool
    num_chars: int
    num_segments: int
    estimated_audio_s: float
    estimated_render_s: float | None
    warnings: tuple[PlanWarning, ...]
    left_out: tuple[LeftOut, ...]
    speakers: tuple[PlannedSpeaker, ...]
    chapters: tuple[PlannedChapter, ...]
    segments: tuple[PlannedSegment, ...]
    cast: ProposedCast | None = None
