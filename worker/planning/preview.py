"""The end of a job that only wanted to know: its plan as an artifact, and nothing spoken."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise

from reading.dialogue.proposal import Dialogue
from reading.drafting.draft import Draft
from reading.estimates import expected_audio_ms
from reading.plan.plan import Plan, PlanSegment
from reading.plan.sentences import PlanSentence
from storage.jobs.record import ArtifactRecord
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ClaimedItem
from storage.jobs.work_queues import speech_queue
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.segments.timeline import Pacing
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import put_fenced, until_available
from worker.services import WorkerServices

logger = logging.getLogger(__name__)

PREVIEW_NAME = "plan.json"
PREVIEW_FORMAT = 1


def finish_preview(item: ClaimedItem, draft: Draft, held: HeldLease, services: WorkerServices) -> Tickets:
    """Store the plan where the API reads it and end the job; returns the tickets to send."""
    pace = until_available(held, services.jobs.pace, speech_queue(item.narration.model))
    voices = _voices(item.narration, held, services) if draft.dialogue else ()
    data = json.dumps(preview(draft, item.narration, pace, voices), ensure_ascii=False, indent=1).encode()
    key = keys.artifact(item.lease, PREVIEW_NAME)
    sha256 = put_fenced(services.artifacts, key, data, held)
    artifact = ArtifactRecord(PREVIEW_NAME, "plan", key, len(data), sha256)
    tickets = until_available(held, services.jobs.finish_plan, item.lease, (artifact,))
    logger.info("plan shown", extra={"segments": len(draft.plan.segments), "chars": len(draft.text)})
    return tickets


def _voices(spec: NarrationSpec, held: HeldLease, services: WorkerServices) -> tuple[str, ...]:
    """Built-in voices of the job's model."""
    card = until_available(held, services.models.get, spec.model)
    return card.speakers if card is not None else ()


def preview(draft: Draft, spec: NarrationSpec, pace: float | None, voices: Sequence[str] = ()) -> dict[str, object]:
    """The plan for people. Pure.

    pace: seconds of audio that the model's workers speak in a second, if measured. voices: for proposed characters.
    """
    plan, pacing = draft.plan, Pacing.of(spec.request.output)
    spoken_s = [expected_audio_ms(segment.text) / 1000 for segment in plan.segments]
    lengths_s = [each / pacing.speed_of(segment) for each, segment in zip(spoken_s, plan.segments, strict=True)]
    pauses_s = [segment.pause_after_s / pacing.speed for segment in plan.segments]
    return {
        "format": PREVIEW_FORMAT,
        "title": plan.title,
        "author": plan.author,
        "language": plan.language,
        "has_cover": draft.cover is not None,
        "num_chars": len(draft.text),
        "num_segments": len(plan.segments),
        "estimated_audio_s": round(sum(lengths_s) + sum(pauses_s), 3),
        "estimated_render_s": round(sum(spoken_s) / pace, 3) if pace else None,
        "warnings": [{"code": warning.code, "detail": warning.detail} for warning in draft.warnings],
        "left_out": [{"kind": each.kind, "count": each.count, "first": each.first} for each in draft.left_out],
        "speakers": _speakers(plan, spec, lengths_s),
        "chapters": _chapters(plan, lengths_s, pauses_s),
        "segments": [
            _segment(segment, draft, length_s) for segment, length_s in zip(plan.segments, lengths_s, strict=True)
        ],
        **({} if draft.dialogue is None else {"cast": _cast(draft.dialogue, voices, spec.request.voice)}),
    }


def _cast(dialogue: Dialogue, voices: Sequence[str], narrator: str) -> dict[str, object]:
    chosen = choose_voices(dialogue, voices, narrator)
    characters = [asdict(each) | {"voice": chosen.get(each.name, "")} for each in dialogue.characters]
    return {"characters": characters, "lines": [asdict(line) for line in dialogue.lines]}


def _speakers(plan: Plan, spec: NarrationSpec, lengths_s: list[float]) -> list[dict[str, object]]:
    """Who says how much; the job's own voice has no name."""
    voices = {"": spec.request.voice} | {member.name: member.voice for member in spec.cast}
    counts = dict.fromkeys(voices, 0)
    seconds = dict.fromkeys(voices, 0.0)
    for segment, length_s in zip(plan.segments, lengths_s, strict=True):
        counts[segment.speaker] += 1
        seconds[segment.speaker] += length_s
    return [
        {"name": name, "voice": voice, "num_segments": counts[name], "estimated_audio_s": round(seconds[name], 3)}
        for name, voice in voices.items()
    ]


def _chapters(plan: Plan, lengths_s: list[float], pauses_s: list[float]) -> list[dict[str, object]]:
    starts = [*(chapter.first_segment for chapter in plan.chapters), len(plan.segments)]
    return [
        {
            "id": chapter.id,
            "title": chapter.title,
            "first_segment": chapter.first_segment,
            "num_segments": end - chapter.first_segment,
            "estimated_audio_s": round(
                sum(lengths_s[index] + pauses_s[index] for index in range(chapter.first_segment, end)), 3
            ),
        }
        for chapter, end in zip(plan.chapters, starts[1:], strict=True)
    ]


def _sentence(sentence: PlanSentence, draft: Draft) -> dict[str, object]:
    source, spoken = (" ".join(text.split()) for text in (draft.text[sentence.start : sentence.end], sentence.spoken))
    entry: dict[str, object] = {"start": sentence.start, "end": sentence.end, "text": spoken}
    return entry if source == spoken else entry | {"source": source}


def _segment(segment: PlanSegment, draft: Draft, length_s: float) -> dict[str, object]:
    """`source`: what is written, where something else is spoken."""
    source, spoken = (" ".join(text.split()) for text in (draft.text[segment.start : segment.end], segment.text))
    entry: dict[str, object] = {
        "index": segment.index,
        "id": segment.source_id or None,
        "start": segment.start,
        "end": segment.end,
        "text": spoken,
        "source": None if source == spoken else source,
        "speaker": segment.speaker or None,
        "language": segment.language or None,
        "instructions": segment.instructions,
        "seed": segment.seed,
        "speed": None if segment.speed == 1 else segment.speed,
        "gain_db": segment.gain_db or None,
        "chapter": segment.chapter if draft.has_chapters else None,
        "pause_after_s": segment.pause_after_s,
        "estimated_audio_s": round(length_s, 3),
        "sentences": [_sentence(each, draft) for each in segment.sentences] if segment.breaks else None,
    }
    return {name: value for name, value in entry.items() if value is not None}


_FEMALE = frozenset({"vivian", "serena", "ono_anna", "sohee"})
_MALE = frozenset({"uncle_fu", "dylan", "eric", "ryan", "aiden"})
"""Speakers of the Qwen3-TTS family. Kokoro's names begin with accent and sex: `bf_emma`."""

_KOKORO = re.compile("[a-z]([fm])_")


def voice_sex(voice: str) -> str:
    """Of a built-in voice by its name; "" for any other."""
    name = voice.casefold()
    if match := _KOKORO.match(name):
        return "female" if match[1] == "f" else "male"
    return "female" if name in _FEMALE else "male" if name in _MALE else ""


def choose_voices(proposed: Dialogue, voices: Sequence[str], narrator: str) -> dict[str, str]:
    """Of each character: of its sex, of the narrator's accent, and unlike the voices that it talks with.

    voices: of the model; if it has none, no character gets one. A first-person narrator keeps the narrator's voice.
    """
    if not voices:
        return {}
    talks = _neighbours(proposed)
    accent = narrator[:1] if _KOKORO.match(narrator) else ""
    usable = [voice for voice in voices if voice != narrator and voice.startswith(accent)] or list(voices)
    chosen: dict[str, str] = {}
    uses: Counter[str] = Counter()
    for each in proposed.characters:
        fitting = [voice for voice in usable if each.sex in {"", voice_sex(voice)}] or usable
        heard = Counter[str]()
        for other, times in talks[each.name].items():
            if other in chosen:
                heard[chosen[other]] += times
        chosen[each.name] = (
            narrator
            if each.tells_the_story
            else min(fitting, key=lambda voice: (heard[voice] > 0, uses[voice], heard[voice]))
        )
        uses[chosen[each.name]] += each.num_lines
    return chosen


def _neighbours(proposed: Dialogue) -> Mapping[str, Counter[str]]:
    """How often two people speak one after the other."""
    talks: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one, other in pairwise(line.speaker for line in proposed.lines):
        if one != other:
            talks[one][other] += 1
            talks[other][one] += 1
    return talks
