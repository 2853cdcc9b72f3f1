"""The lines of `rhapsode jobs show`: a name and a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rhapsode.cli.formatting import counted, span, stage, warned
from rhapsode.cli.jobs.listing import share, when

if TYPE_CHECKING:
    from rhapsode.client.resources import Job

Fact = tuple[str, str]
"""A line without a name belongs to the one above it."""


def facts(job: Job, *, is_drained: bool) -> Iterator[Fact]:
    """is_drained: its model has workers, and all of them are drained."""
    yield from _times(job)
    yield from _progress(job)
    yield from _wait(job, is_drained=is_drained)
    yield from _request(job)
    yield from _engine(job)
    yield from (("metadata", f"{name}={value}") for name, value in sorted(job.metadata.items()) if name != "title")
    yield from _faults(job)
    yield from _files(job)


def _times(job: Job) -> Iterator[Fact]:
    from rhapsode.contract.jobs.narration import ShownNarration

    yield "job", job.id
    yield "state", job.state if stage(job) == job.state else f"{job.state}, {stage(job)}"
    if job.title:
        yield "title", job.title
    yield "created", when(job)
    if isinstance(job.request, ShownNarration) and job.request.not_before:
        yield "not before", f"{job.request.not_before.astimezone():%Y-%m-%d %H:%M:%S}"
    if job.started_at and job.finished_at:
        yield "took", span((job.finished_at - job.started_at).total_seconds())


def _progress(job: Job) -> Iterator[Fact]:
    from rhapsode.contract.jobs.answer import ShownVoiceCaches

    if isinstance(job.request, ShownVoiceCaches):
        yield "voices", share(job)
    else:
        yield "segments", share(job)
        yield "spoken", span(job.progress.audio_s_done)


def _wait(job: Job, *, is_drained: bool) -> Iterator[Fact]:
    if job.queue and job.queue.position:
        yield "before it", f"{job.queue.position} job{'s' if job.queue.position > 1 else ''}"
    if job.queue and not job.queue.has_worker:
        yield "worker", "its workers are drained" if is_drained else "none for its model"
    if job.progress.eta_s is not None:
        whose = "the workers'" if job.progress.eta_basis == "fleet_rate" else "its own"
        yield "left", f"about {span(job.progress.eta_s)}, at {whose} measured pace"


def _request(job: Job) -> Iterator[Fact]:
    from rhapsode.contract.jobs.answer import ShownVoiceCaches
    from rhapsode.contract.jobs.narration import ShownNarration

    match job.request:
        case ShownNarration() as request:
            if request.input.first_words:
                yield "begins", request.input.first_words
            yield "model", request.model
            yield "voice", request.voice
            yield "language", request.language
            yield "seed", str(request.seed)
            if request.reproducibility == "strict":
                yield "strict", "the same speech under any load"
            if not request.reuse:
                yield "reuse", "off: every segment is spoken"
        case ShownVoiceCaches() as request:
            yield "model", request.model


def _engine(job: Job) -> Iterator[Fact]:
    if job.engine.model_revision:
        yield "revision", job.engine.model_revision
    if job.engine.config_sha256:
        yield "engine", job.engine.config_sha256


def _faults(job: Job) -> Iterator[Fact]:
    if job.error:
        yield "error", f"{job.error.detail} ({job.error.code})"
        if job.error.retryable:
            yield "", f"`rhapsode jobs retry {job.id}` may help"
    for warning in job.warnings:
        yield "", warned(warning)


def _files(job: Job) -> Iterator[Fact]:
    for artifact in job.artifacts:
        length = f", {span(artifact.duration_s)}" if artifact.duration_s is not None else ""
        files = f", lists {counted(artifact.files, 'file')} of {artifact.files_bytes} bytes" if artifact.files else ""
        yield "artifact", f"{artifact.name}, {artifact.bytes} bytes{length}{files}"
        if artifact.key:
            yield "", artifact.key
        yield "", artifact.url
    if job.expires_at:
        yield "kept until", f"{job.expires_at.astimezone():%Y-%m-%d %H:%M}"
