"""The body that an input and its options become."""

from __future__ import annotations

from pydantic import JsonValue

from rhapsode.client.plain_json import json_object, plain_json
from rhapsode.client.request_options import JobInputFields, JobOptions


def submission_body(spoken: str | JobInputFields, options: JobOptions) -> dict[str, JsonValue]:
    """The JSON of `POST /v1/jobs`. Raises `ValueError` for a time without a time zone."""
    return {"input": {"text": spoken} if isinstance(spoken, str) else plain_json(spoken), **json_object(options)}
