"""Every request that changes the course of a job as a value. No I/O: both clients send these.

All are safe to repeat.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from pydantic import JsonValue

from rhapsode.client.calls import ApiCall, job_path, resource
from rhapsode.client.plain_json import json_object, plain_json
from rhapsode.client.request_options import JobChanges, RetryOptions
from rhapsode.client.resources import Job


def pause_job(job_id: str) -> ApiCall[Job]:
    return ApiCall("POST", f"{job_path(job_id)}/pause", resource(Job))


def resume_job(job_id: str) -> ApiCall[Job]:
    return ApiCall("POST", f"{job_path(job_id)}/resume", resource(Job))


def change_job(job_id: str, changes: JobChanges) -> ApiCall[Job]:
    """Raises `ValueError` for a time without a time zone."""
    return ApiCall("PATCH", job_path(job_id), resource(Job), body=plain_json(changes))


def retry_job(job_id: str, options: RetryOptions) -> ApiCall[Job]:
    return ApiCall("POST", f"{job_path(job_id)}/retry", resource(Job), body=json_object(options))


def assemble_job(job_id: str, output: Mapping[str, JsonValue] | None, idempotency_key: str | None) -> ApiCall[Job]:
    headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
    return ApiCall(
        "POST", f"{job_path(job_id)}/assemble", resource(Job), headers=headers, body=json_object({"output": output})
    )
