"""The job's record between its two forms: `JobRecord` here, a hash of strings in Redis. Pure."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import cast

from pydantic import TypeAdapter
from pydantic_core import from_json

from reading.drafting.warnings import TextWarning
from rhapsode.contract.jobs.states import JobPhase
from storage.jobs.batches import BatchSpec
from storage.jobs.record import ArtifactRecord, JobRecord, JobSpec, SpokenBy
from storage.jobs.states import stored_phase
from storage.jobs.submissions import Submission, is_bulky
from storage.jobs.webhook_target import WebhookTarget
from storage.jobs.whole import WholePlan
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import VoiceCacheSpec
from storage.runtime.observability.tracing import current_trace

_Decode = Callable[[str], NarrationSpec]
_SPEC: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)
_SUBMISSION = TypeAdapter(Submission)
_METADATA = TypeAdapter(dict[str, str])
_ARTIFACTS = TypeAdapter(tuple[ArtifactRecord, ...])
_WEBHOOK = TypeAdapter(WebhookTarget)
_SPOKEN_BY = TypeAdapter(SpokenBy)
_WARNINGS = TypeAdapter(tuple[TextWarning, ...])
_RECORD = TypeAdapter(JobRecord)

_DOCUMENTS = ("artifacts", "error", "metadata", "spoken_by", "warnings", "webhook")
"""Fields of the hash that are JSON."""

_ENDED = ("succeeded", "failed", "cancelled", "expired")


def encode_submission(submission: Submission) -> str:
    """As one document, on one line. Without its trace, which is over by the time that it is read."""
    return _SUBMISSION.dump_json(submission, exclude={"trace"}).decode()


def decode_submission(document: bytes) -> Submission:
    """Raises `ValidationError`. Fields that a newer release added are overlooked, as of a spec."""
    return _SUBMISSION.validate_json(document, extra="ignore")


def submitted_fields(submission: Submission) -> dict[str, str]:
    """What the submission decides, and the trace it is part of; the function that submits adds the rest."""
    fields = {
        "priority": submission.priority.value,
        "spec": encode_spec(submission.spec),
        "input_key": submission.input_key,
        "input_chars": str(submission.input_chars),
        "retention_s": str(submission.retention_s),
        "metadata": encode_metadata(submission.metadata),
    }
    if isinstance(submission.spec, VoiceCacheSpec):
        fields["kind"] = "voice_cache"
    if isinstance(submission.spec, BatchSpec):
        fields |= {"kind": "batch", "lines": str(submission.spec.num_lines)}
    if is_bulky(submission):
        fields["bulky"] = "1"
    if submission.batch is not None:
        fields["batch"] = submission.batch
    if submission.key_id:
        fields["key_id"] = submission.key_id
    if submission.not_before_ms is not None:
        fields["not_before_ms"] = str(submission.not_before_ms)
    if trace := submission.trace or current_trace():
        fields["trace"] = trace
    if submission.webhook is not None:
        fields["webhook"] = _WEBHOOK.dump_json(submission.webhook).decode()
    if submission.whole is not None:
        fields |= _whole_fields(submission.whole)
    return fields


def _whole_fields(whole: WholePlan) -> dict[str, str]:
    fields = {"whole": "1", "plan": whole.document, "first_words": whole.first_words, "cost_ms": str(whole.speech_ms)}
    if whole.warnings:
        fields["warnings"] = _WARNINGS.dump_json(whole.warnings, exclude_none=True).decode()
    return fields


def decode_record(fields: Mapping[str, str], known: JobSpec | None = None) -> JobRecord:
    """known: a spec that the record's may equal, which saves reading that again."""
    phase = stored_phase(fields["phase"]) if "phase" in fields else None
    spec = known if known is not None and encode_spec(known) == fields["spec"] else decode_spec(fields["spec"])
    told: dict[str, object] = {name: from_json(fields[name]) for name in _DOCUMENTS if name in fields}
    return _RECORD.validate_python(
        {
            **fields,
            **told,
            "phase": phase,
            "job_class": fields["class"],
            "spec": spec,
            "is_scheduled": fields.get("scheduled", "0") != "0",
            # Every lease is a segment's while the job synthesises, and none is otherwise.
            "segments": {**fields, "running": fields.get("leased", 0) if phase is JobPhase.SYNTHESIZING else 0},
            "children": {ended: fields.get(f"ended_{ended}", 0) for ended in _ENDED},
            "out_audio_ms": fields.get("out_ms", 0),
            "plan_document": fields.get("plan", ""),
        }
    )


@lru_cache(maxsize=512)
def decode_spec(text: str) -> JobSpec:
    """Equal texts give the same immutable value: a job's items are claimed by the thousand."""
    return _SPEC.validate_json(text, extra="ignore")


@lru_cache(maxsize=512)
def encode_spec(spec: JobSpec) -> str:
    """Equal specs give equal text. A submit asks twice, for the record and for the journal."""
    return _SPEC.dump_json(spec).decode()


# Between a worker's processes as in the record: a tree of models takes longer to pickle, and much longer to unpickle.
copyreg.pickle(NarrationSpec, lambda spec: (cast("_Decode", decode_spec), (encode_spec(spec),)))


def encode_metadata(metadata: dict[str, str]) -> str:
    return _METADATA.dump_json(metadata).decode()


def warning_rows(warnings: Sequence[TextWarning]) -> list[dict[str, str | int]]:
    """As the functions in Redis take them: without `segment` where there is none, as Lua reads null as a value."""
    return cast("list[dict[str, str | int]]", _WARNINGS.dump_python(tuple(warnings), mode="json", exclude_none=True))


def decode_warnings(text: str) -> tuple[TextWarning, ...]:
    return _WARNINGS.validate_json(text)


def encode_spoken_by(spoken_by: SpokenBy) -> str:
    return _SPOKEN_BY.dump_json(spoken_by).decode()


def encode_artifacts(artifacts: tuple[ArtifactRecord, ...]) -> str:
    return _ARTIFACTS.dump_json(artifacts).decode()
