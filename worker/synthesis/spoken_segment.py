"""What one segment says and how: the job's request, its plan and the user's edit put together. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from reading.plan.plan import PlanSegment
from storage.jobs.work_items import ClaimedItem
from storage.narration.cast import SpeakerVoice, find_speaker
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import VoiceReference
from storage.segments.edits import FIRST_TAKE
from worker.errors import unusable


def segment_seed(job_seed: int, text: str, occurrence: int = 0, take: int = 1, attempt: int = 1) -> int:
    """The upper 53 bits of sha256("rhapsode segment seed 2:<job seed>:<occurrence>:<take>:<attempt>:<text>").

    Fixed for all times and machines; 53 bits are exact in every JSON reader. It follows from what is said and not from
    where: a sentence that is put in between changes the sound of no other. text: as it is spoken. occurrence: how many
    segments before it say the same, so that a refrain is not the same recording again. take and attempt count from 1.
    """
    named = f"rhapsode segment seed 2:{job_seed}:{occurrence}:{take}:{attempt}:{text}"
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[:8], "big") >> 11


@dataclass(frozen=True, slots=True)
class SpokenSegment:
    """One segment as it is to sound.

    text: as it is spoken. num_chars: of the input that it stands for. voice: a built-in speaker, or the name of
    `own_voice`. own_seed: of its first attempt, where plan or edit give one. speaker: the cast's name of who speaks.
    sentences: of its text, one by one. drawn: this take says the same as the one before and is to sound otherwise.
    """

    index: int
    text: str
    num_chars: int
    speaker: str
    voice: str
    own_voice: VoiceReference | None
    language: str
    instructions: str
    own_seed: int | None
    occurrence: int
    take: int
    drawn: bool = False
    sentences: tuple[str, ...] = ()

    def seed(self, job_seed: int, attempt: int) -> int:
        """Of an attempt, counted from 1."""
        if self.own_seed is None:
            return segment_seed(job_seed, self.text, self.occurrence, self.take, attempt)
        # The same number gives the same speech again; what did not pass needs another one.
        return self.own_seed if attempt == 1 else segment_seed(self.own_seed, self.text, 0, FIRST_TAKE, attempt)


def spoken_segment(item: ClaimedItem, planned: PlanSegment) -> SpokenSegment:
    """The segment under lease. Raises `PermanentItemError` for a speaker whom the cast does not have.

    planned: with the item's edit over it (`storage.segments.edited`).
    """
    spec, edit = item.narration, item.edit
    voice = _voice(spec, planned.speaker, planned.index)
    return SpokenSegment(
        index=planned.index,
        text=planned.spoken_text,
        num_chars=planned.end - planned.start if planned.spoken_text else 0,
        speaker=planned.speaker,
        voice=voice.voice,
        own_voice=voice.own_voice,
        language=planned.language or spec.request.language,
        instructions=spec.request.instructions if planned.instructions is None else planned.instructions,
        own_seed=_own_seed(planned, item),
        occurrence=planned.occurrence,
        take=item.take,
        drawn=bool(edit.drawn),
        sentences=tuple(each.spoken for each in planned.sentences),
    )


def _own_seed(planned: PlanSegment, item: ClaimedItem) -> int | None:
    """An edit's is used as it is. The plan's is used so for the first take: the others are to sound otherwise."""
    if item.edit.seed is not None or planned.seed is None:
        return item.edit.seed
    if item.take == FIRST_TAKE:
        return planned.seed
    return segment_seed(planned.seed, planned.spoken_text, 0, item.take)


def _voice(spec: NarrationSpec, speaker: str, index: int) -> SpeakerVoice:
    if not speaker:
        return SpeakerVoice("", spec.request.voice, spec.own_voice)
    found = find_speaker(spec.cast, speaker)
    if found is None:
        raise unusable(
            "internal", f"segment {index} is spoken by {speaker!r}, whom the job's cast does not have", index
        )
    return found
