"""A job's record as the API shows it. Pure but for the signing of links."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from mimetypes import types_map
from typing import Any

from api.http.links import URL_TTL_S, LinkBuilder
from api.http.times import audio_s, moment, optional_moment
from api.jobs.answers.failure_view import job_problem
from api.jobs.answers.progress import JobWaiting, time_left
from api.jobs.answers.segment_ids import segment_id
from api.webhooks.view import job_receiver
from rhapsode.contract.jobs.answer import (
    Artifact,
    Job,
    Links,
    Progress,
    SegmentProgress,
    ShownVoiceCaches,
    SpokenWith,
    Usage,
)
from rhapsode.contract.jobs.narration import ShownNarration, ShownVoice
from rhapsode.contract.jobs.quality import SEGMENT_QUALITY, JobQuality, JobWarning
from rhapsode.contract.jobs.states import JobState
from storage.jobs.batches import BatchSpec
from storage.jobs.chapter_files import ListedFile
from storage.jobs.record import ArtifactRecord, JobRecord
from storage.jobs.warnings import RECORDING_REPAIRED, SEGMENT_GAP
from storage.narration.audio_formats import FORMATS
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import VoiceCacheSpec, VoiceReference
from storage.objects.keys import DELIVERED
from storage.objects.store import ArtifactStore, Download

DEFAULT_RETRY_AFTER_S = 2
MAX_RETRY_AFTER_S = 60

_CONTENT_TYPES = (
    types_map
    | {f".{form}": facts.content_type for form, facts in FORMATS.items()}
    | {".json": "application/json", ".srt": "application/x-subrip", ".vtt": "text/vtt"}
)

NARRATION = "narration"
"""The stem of the files of a whole narration."""

MOST_TITLE_CHARS = 100
_UNFIT_FOR_FILES = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
"""What some system takes in no name of a file."""


@dataclass(frozen=True, slots=True)
class JobViewer:
    """now_s: Unix seconds, for the age of links and the rate so far."""

    artifacts: ArtifactStore
    links: LinkBuilder
    now_s: float

    def job(self, record: JobRecord, waiting: JobWaiting | None) -> Job:
        """waiting: None of a job that has ended."""
        return Job(
            id=record.id,
            kind="voice_cache" if isinstance(record.spec, VoiceCacheSpec) else "synthesis",
            state=record.state,
            phase=None if record.state.is_terminal else record.phase,
            created_at=moment(record.created_at_ms),
            started_at=optional_moment(record.started_at_ms),
            finished_at=optional_moment(record.finished_at_ms),
            expires_at=optional_moment(record.expires_at_ms),
            queue=waiting.queue if waiting else None,
            progress=_progress(record, waiting, self.now_s),
            request=_request(record),
            artifacts=self.artifact_list(record),
            usage=Usage(
                input_chars=record.input_chars,
                audio_s=audio_s_done(record),
                cached_audio_s=audio_s(record.samples_reused, record.sample_rate_hz),
                engine_s=record.engine_ms / 1000,
                retries=record.retries,
            ),
            engine=_engine(record),
            quality=job_quality(record),
            warnings=job_warnings(record),
            error=job_problem(record),
            metadata=record.metadata,
            batch_id=record.batch,
            webhook=job_receiver(record.webhook),
            links=Links(
                self_=self.links.job(record.id),
                events=self.links.events(record.id),
                segments=self.links.segments(record.id),
                audio=self.links.audio(record.id),
                cancel=self.links.cancel(record.id),
                artifacts=self.links.artifacts(record.id),
            ),
        )

    def artifact_list(self, record: JobRecord) -> tuple[Artifact, ...]:
        expires_s = _links_expire_at(self.now_s)
        return tuple(self._artifact(record, artifact, expires_s) for artifact in record.artifacts)

    def chapter_files(self, record: JobRecord, listed: Sequence[ListedFile]) -> tuple[Artifact, ...]:
        expires_s = _links_expire_at(self.now_s)
        return tuple(
            self._artifact(record, artifact, expires_s).model_copy(
                update={"chapter": file.chapter, "title": file.title}
            )
            for file, artifact in listed
        )

    def download_url(self, record: JobRecord, artifact: ArtifactRecord, ttl_s: int) -> str:
        download = Download(file_name(record, artifact), content_type(artifact.name))
        return self.links.absolute(self.artifacts.url(artifact.key, ttl_s, download))

    def etag(self, record: JobRecord) -> str:
        """Changes with the record and, once it shows links, with these. Weak: the ETA may move in between."""
        epoch = _links_expire_at(self.now_s) if record.artifacts else 0
        return f'W/"{hashlib.sha256(f"{epoch}{record!r}".encode()).hexdigest()[:32]}"'

    def _artifact(self, record: JobRecord, artifact: ArtifactRecord, expires_s: int) -> Artifact:
        return Artifact(
            name=artifact.name,
            type=artifact.type,
            bytes=artifact.bytes,
            sha256=artifact.sha256,
            duration_s=artifact.duration_s,
            files=artifact.listed or None,
            files_bytes=artifact.listed_bytes or None,
            chapter=None,
            title=None,
            key=artifact.key if artifact.key.startswith(DELIVERED) else None,
            url=self.download_url(record, artifact, expires_s - int(self.now_s)),
            url_expires_at=moment(expires_s * 1000),
        )


def retry_after_s(job: Job) -> int:
    """When it is worth asking again."""
    eta_s = job.progress.eta_s
    return DEFAULT_RETRY_AFTER_S if eta_s is None else math.ceil(min(MAX_RETRY_AFTER_S, max(1, eta_s)))


def content_type(name: str) -> str:
    _, dot, suffix = name.rpartition(".")
    return _CONTENT_TYPES.get(f"{dot}{suffix}", "application/octet-stream")


def audio_s_done(record: JobRecord) -> float:
    return audio_s(record.samples_done, record.sample_rate_hz)


def fraction_done(state: JobState, done: int, total: int) -> float:
    if state is JobState.SUCCEEDED:
        return 1.0
    return round(done / total, 4) if total else 0.0


def find_artifact(artifacts: Sequence[ArtifactRecord], name: str) -> ArtifactRecord | None:
    return next((artifact for artifact in artifacts if artifact.name == name), None)


def file_name(record: JobRecord, artifact: ArtifactRecord) -> str:
    """The file's name in a browser. The narration has its title. Other fixed names get the job's id, and chapters keep
    their names.
    """
    if artifact not in record.artifacts:
        return artifact.name
    stem, _, suffix = artifact.name.rpartition(".")
    title = _UNFIT_FOR_FILES.sub(" ", record.metadata.get("title", ""))
    title = " ".join(title.split())[:MOST_TITLE_CHARS].strip(" .")
    if stem == NARRATION and title:
        return f"{title}.{suffix}"
    return f"{record.id}-{artifact.name}"


def _links_expire_at(now_s: float) -> int:
    """The same for all answers of a quarter of an hour, so that caches and validators can work; 15 to 30 min ahead."""
    return (int(now_s) // URL_TTL_S + 2) * URL_TTL_S


def _progress(record: JobRecord, waiting: JobWaiting | None, now_s: float) -> Progress:
    counts = record.segments
    eta = time_left(record, waiting, now_s)
    return Progress(
        fraction=fraction_done(record.state, counts.done, counts.total),
        eta_s=eta.seconds if eta else None,
        eta_basis=eta.basis if eta else None,
        segments=SegmentProgress.model_validate(counts, from_attributes=True),
        chars_done=record.chars_done,
        audio_s_done=audio_s_done(record),
    )


def _request(record: JobRecord) -> ShownNarration | ShownVoiceCaches:
    match record.spec:
        case NarrationSpec() as spec:
            return _narration(record, spec)
        case VoiceCacheSpec() as spec:
            return ShownVoiceCaches(
                model=spec.model,
                voices=spec.num_voices,
                force=spec.rebuild,
                priority=record.priority,
                deadline=optional_moment(record.deadline_ms),
                retention_s=record.retention_s,
            )
        case BatchSpec():
            raise TypeError(f"{record.id} is a batch, which has another view")


def _narration(record: JobRecord, spec: NarrationSpec) -> ShownNarration:
    """The stored document, with what the job's own record knows."""
    given = spec.request.input.model_copy(update={"first_words": record.first_words})
    shown: dict[str, Any] = {**dict(spec.request), "input": given}
    return ShownNarration(
        **shown,
        own_voice=_own_voice(spec.own_voice),
        speakers={member.name: member.voice for member in spec.cast},
        priority=record.priority,
        not_before=optional_moment(record.not_before_ms),
        deadline=optional_moment(record.deadline_ms),
        retention_s=record.retention_s,
    )


def _own_voice(voice: VoiceReference | None) -> ShownVoice | None:
    if voice is None:
        return None
    return ShownVoice(
        id=voice.voice or None,
        revision=voice.revision,
        mode=voice.mode,
        ref_text=voice.ref_text,
        if_cache_missing=voice.if_missing,
    )


def _engine(record: JobRecord) -> SpokenWith:
    if isinstance(record.spec, BatchSpec):
        raise TypeError(f"{record.id} is a batch, which has another view")
    by = record.spoken_by
    return SpokenWith(
        model=record.spec.model,
        model_revision=by.model_revision,
        voice_cache=by.voice_cache,
        config_sha256=by.config_sha256,
    )


def job_quality(record: JobRecord) -> JobQuality | None:
    """None for a job that speaks nothing."""
    if not isinstance(record.spec, NarrationSpec):
        return None
    return JobQuality(
        gate=record.spec.request.quality.gate,
        retries=record.rerolls,
        flagged_segments=_warned_of(record, SEGMENT_QUALITY),
        gaps=_warned_of(record, SEGMENT_GAP),
    )


def _warned_of(record: JobRecord, code: str) -> tuple[str, ...]:
    segments = sorted(each.segment for each in record.warnings if each.code == code and each.segment is not None)
    return tuple(segment_id(index) for index in segments)


def job_warnings(record: JobRecord) -> tuple[JobWarning, ...]:
    said = [JobWarning(code=each.code, detail=each.detail, segment=each.segment) for each in record.warnings]
    own = record.spec.own_voice if isinstance(record.spec, NarrationSpec) else None
    repairs = own.source.repairs if own else ()
    return (*(JobWarning(code=RECORDING_REPAIRED, detail=each, segment=None) for each in repairs), *said)
