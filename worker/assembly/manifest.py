"""The manifest: what was spoken how, where it came from, what was found, and how to make it again. Pure.

Written segment by segment, so that a long job's takes no more memory than its plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from reading.drafting.warnings import TextWarning
from storage.jobs.record import ArtifactRecord
from storage.jobs.work_items import ClaimedItem
from storage.narration.spec import NarrationSpec
from storage.segments.file import SegmentHeader
from storage.segments.results import SILENCED
from storage.segments.timeline import Placed, spoken_span
from worker.assembly.audio.levels import MeasuredLevel
from worker.assembly.audio.speaker_levels import SpeakerLevel
from worker.assembly.chapter_voices import ChapterVoice
from worker.assembly.codes_file import CodesFile
from worker.assembly.earlier import Made
from worker.assembly.narration import AssembledNarration

MANIFEST_FORMAT = 3

NO_CODES = "the model speaks without codes, so there is no codes.safetensors"

REPRODUCE = (
    "jq '.request + {input: {segments: [.segments[]"
    " | {text, speaker, language, instructions, seed, pause_after_s, speed, gain_db}"
    " | with_entries(select(.value != null))]}}'"
    ' manifest.json | curl --json @- "$RHAPSODE_SERVER_URL/v1/jobs"'
)
"""Every segment with the seed of the attempt that was kept, which is used as it is, and no gate to try another.

A segment whose kept attempt was drawn from a greedy checkpoint or spoken in two parts (see `tried`) sounds otherwise.
"""

_LEFT_OUT: dict[str, bool | dict[str, bool]] = {
    **dict.fromkeys(("input", "pronunciation_dictionaries", "validate_only"), True),
    # An upload is gone after a day.
    "output": {"cover": True},
}


@dataclass(frozen=True, slots=True)
class AssembledJob:
    """What assembly knows at its end.

    headers: of the segments, in order. levels: empty if nothing was levelled. speakers: those with audio. voices: as
    `chapter_voices` has them. warnings: the job's and assembly's own.
    """

    headers: Sequence[SegmentHeader]
    levels: Sequence[MeasuredLevel]
    speakers: Sequence[SpeakerLevel]
    voices: Mapping[str, Sequence[ChapterVoice]]
    artifacts: Sequence[ArtifactRecord]
    made: Made
    warnings: Sequence[TextWarning]
    codes: CodesFile
    output_rate_hz: int


def manifest(item: ClaimedItem, narration: AssembledNarration, made: AssembledJob) -> Iterator[bytes]:
    """The file in pieces."""
    # A line for each field: with the encoder's own `indent` it takes three times as long.
    head = [
        f'"{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in _head(item, narration, made).items()
    ]
    yield ("{\n " + ",\n ".join([*head, '"segments": ['])).encode()
    separator = "\n  "
    for placed, header in zip(narration.placed, made.headers, strict=True):
        yield (separator + json.dumps(_segment(placed, header, narration, item.narration), ensure_ascii=False)).encode()
        separator = ",\n  "
    yield b"\n ]\n}\n"


def _head(item: ClaimedItem, narration: AssembledNarration, made: AssembledJob) -> dict[str, object]:
    spec = item.narration
    return {
        "format": MANIFEST_FORMAT,
        "job": item.lease.job,
        "title": spec.request.output.tags.title or narration.plan.title,
        "model": spec.model,
        # More than one if the checkpoint was replaced while the job ran.
        "revisions": sorted({header.revision for header in made.headers}),
        # Of how the engines were set up; more than one if workers differ, or if segments were reused.
        "config_sha256": sorted({header.config_sha256 for header in made.headers if header.config_sha256}),
        "settings": _settings(spec),
        "sample_rate_hz": made.output_rate_hz,
        "totals": _totals(narration, made),
        "loudness": [_level(level) for level in made.levels],
        "speakers": [
            asdict(each) | {"chapters": [asdict(chapter) for chapter in made.voices.get(each.name, ())]}
            for each in made.speakers
        ],
        # For an assembly after an edit, which takes the files of chapters that are the same.
        "made": asdict(made.made),
        "chapters": [
            {"title": each.title, "start_s": round(each.span.start_s, 6), "end_s": round(each.span.end_s, 6)}
            for each in narration.chapters
        ],
        "artifacts": [{"name": each.name, "bytes": each.bytes, "sha256": each.sha256} for each in made.artifacts],
        "no_codes": "" if made.codes.has_codes else NO_CODES,
        "warnings": [asdict(warning) for warning in made.warnings],
        "gaps": [
            _gap(placed, narration.sample_rate_hz) for placed in narration.placed if SILENCED in placed.result.flags
        ],
        "reproduce": REPRODUCE,
        "request": _request(spec),
    }


def _settings(spec: NarrationSpec) -> Mapping[str, object]:
    """What was asked for, as the job shows it, and each voice of the caller's as it was: recording, text, consent."""
    asked = spec.request.model_dump(mode="json")
    own_voice = None if spec.own_voice is None else asdict(spec.own_voice)
    return asked | {"own_voice": own_voice, "cast": [asdict(member) for member in spec.cast]}


def _totals(narration: AssembledNarration, made: AssembledJob) -> dict[str, object]:
    results = [each.result for each in narration.placed]
    return {
        "segments": len(results),
        "samples": narration.num_samples,
        "duration_s": narration.duration_s,
        "frames": made.codes.num_frames,
        "segments_at_length_limit": sum(result.finish_reason == "length" for result in results),
        "segments_flagged": sum(bool(result.flags) for result in results),
        "segments_reused": sum(result.reused for result in results),
        "attempts": sum(result.attempts for result in results),
    }


def _gap(placed: Placed, sample_rate_hz: int) -> dict[str, object]:
    """Silence where something should be said."""
    span = spoken_span(placed, sample_rate_hz)
    return {
        "segment": placed.planned.index,
        "start_s": round(span.start_s, 6),
        "duration_s": round(span.duration_s, 6),
        "text": placed.planned.text,
        "findings": [flag for flag in placed.result.flags if flag != SILENCED],
    }


def _level(level: MeasuredLevel) -> dict[str, object]:
    """What was measured is as spoken, null for silence. `limited_to_db`: null where no limiter was needed."""
    return {
        "segments": [level.first_segment, level.end_segment - 1],
        "measured_lufs": _rounded(level.loudness_lufs),
        "measured_true_peak_db": _rounded(level.true_peak_db),
        "gain_db": _rounded(level.gain_db),
        "limited_to_db": _rounded(level.ceiling_db),
        "lufs": _rounded(level.reached_lufs),
    }


def _rounded(decibels: float | None) -> float | None:
    return None if decibels is None else round(decibels, 2)


def _segment(
    placed: Placed, header: SegmentHeader, narration: AssembledNarration, spec: NarrationSpec
) -> dict[str, object]:
    """`start` and `end` are code points of the plan's text; `start_s` and `duration_s` are its times in the audio."""
    planned, result = placed.planned, placed.result
    span = spoken_span(placed, narration.sample_rate_hz)
    return {
        "index": planned.index,
        "id": planned.source_id or None,
        "chapter": planned.chapter,
        "start": planned.start,
        "end": planned.end,
        "text": planned.text,
        "speaker": planned.speaker or None,
        "voice": header.voice,
        "language": planned.language or spec.request.language,
        "instructions": planned.instructions,
        "start_s": round(span.start_s, 6),
        "duration_s": round(span.duration_s, 6),
        "pause_after_s": planned.pause_after_s,
        "speed": planned.speed,
        "gain_db": planned.gain_db,
        "seed": header.seed,
        "attempts": result.attempts,
        "take": result.take,
        "reused": result.reused,
        "finish_reason": header.finish_reason,
        "flags": list(result.flags),
        "pauses": {"held": header.pauses_held, "left": header.pauses_left},
        "tried": [asdict(each) for each in header.tried],
        "loudness_lufs": result.loudness_lufs,
        "revision": header.revision,
        "config_sha256": header.config_sha256 or None,
        "text_sha256": header.text_sha256,
        "sha256": result.sha256,
    }


def _request(spec: NarrationSpec) -> dict[str, object]:
    """The job again as a request, apart from its input: what is not of the speech is left to the one who asks.

    No dictionaries and no rules for words, for the texts of the segments are already what is spoken.
    """
    asked = spec.request.model_dump(mode="json", exclude_none=True, exclude=_LEFT_OUT)
    wanted = asked | {
        "voice": (spec.own_voice.voice if spec.own_voice else spec.request.voice) or None,
        "instructions": spec.request.instructions or None,
        "speakers": {each.name: each.own_voice.voice if each.own_voice else each.voice for each in spec.cast},
        "quality": {"gate": "off"},
        "normalization": "off",
    }
    return {name: value for name, value in wanted.items() if value not in (None, {})}
