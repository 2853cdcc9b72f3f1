"""Every request about batches as a value, and its answers. No I/O: both clients send these."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from rhapsode.client.calls import ApiCall, nothing, resource
from rhapsode.client.plain_json import json_object
from rhapsode.contract.base import Answer
from rhapsode.contract.batches import Batch, BatchList
from rhapsode.contract.jobs.answer import Artifact
from rhapsode.contract.jobs.failure import JobProblem
from rhapsode.contract.jobs.states import JobState
from rhapsode.errors import BadAnswer

CHECKING_S = 900.0
"""The server reads every line before it answers: a hundred thousand of them take minutes on a slow machine."""


class BatchResult(Answer):
    """What became of one line. line: its number in the file, from 1. job_id and state: None while it is no job."""

    custom_id: str
    line: int
    job_id: str | None
    state: JobState | None
    artifacts: tuple[Artifact, ...]
    error: JobProblem | None
    audio_s: float


def order_batch(
    upload_id: str,
    sha256: str,
    retention_s: int | None,
    metadata: Mapping[str, str] | None,
    idempotency_key: str | None,
) -> ApiCall[Batch]:
    """sha256: of the file. With it the server compares the file, not the upload, when the key comes again."""
    body = json_object(
        {"upload_id": upload_id, "sha256": sha256, "retention_s": retention_s, "metadata": metadata or None}
    )
    headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
    return ApiCall("POST", "/v1/batches", resource(Batch), headers=headers, body=body, hold_s=CHECKING_S)


def get_batch(batch_id: str) -> ApiCall[Batch]:
    return ApiCall("GET", batch_path(batch_id), resource(Batch))


def list_batches(page_size: int, cursor: str | None) -> ApiCall[BatchList]:
    params = (("limit", str(page_size)), *((("cursor", cursor),) if cursor else ()))
    return ApiCall("GET", "/v1/batches", resource(BatchList), params=params)


def cancel_batch(batch_id: str) -> ApiCall[Batch]:
    """The server cancels job after job before it answers."""
    return ApiCall("POST", f"{batch_path(batch_id)}/cancel", resource(Batch), hold_s=CHECKING_S)


def delete_batch(batch_id: str) -> ApiCall[None]:
    return ApiCall("DELETE", batch_path(batch_id), nothing)


def file_sha256(path: Path) -> str:
    """Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def results_path(batch_id: str) -> str:
    return f"{batch_path(batch_id)}/results"


def batch_path(batch_id: str) -> str:
    return f"/v1/batches/{quote(batch_id, safe='')}"


def read_result(line: str) -> BatchResult:
    """Raises `BadAnswer`."""
    try:
        return BatchResult.model_validate_json(line, extra="ignore")
    except ValidationError as error:
        raise BadAnswer(f"not a result of a batch: {line[:200]!r}") from error
