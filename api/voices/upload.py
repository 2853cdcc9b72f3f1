"""A multipart form with at most one file: counted from its first byte on, and kept on disk, not in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from api.http.middleware.body_limit import CountedBody
from api.http.problems.problem import HttpProblem, invalid_field, malformed, payload_too_large, problem

MAX_SAMPLE_BYTES = 10 * 1024 * 1024
"""Of a recording: a minute of stereo at 48 kHz is 11.5 MB as WAV and half of that as FLAC."""

MAX_FORM_BYTES = MAX_SAMPLE_BYTES + 128 * 1024
MAX_FIELD_BYTES = 96 * 1024
"""The numbers of an embedding of the largest checkpoint, written out."""

MAX_FIELDS = 16


@dataclass(frozen=True, slots=True)
class UploadForm:
    """fields: the form's text fields. files: those with a file name or of a file's type, by field name."""

    fields: dict[str, str]
    files: dict[str, IO[bytes]]


@asynccontextmanager
async def read_upload(request: Request, file_fields: frozenset[str]) -> AsyncGenerator[UploadForm]:
    """The form of this request; its temporary files live as long as the block. Raises a `HttpProblem`."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise problem("unsupported_media", "the body must be multipart/form-data")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise problem("unsupported_media", "the body must not be compressed")
    counted = Request(request.scope, CountedBody(request.receive, MAX_FORM_BYTES, None).receive)
    form = await _form(counted)
    try:
        yield _upload(form, file_fields)
    finally:
        await form.close()


async def _form(request: Request) -> FormData:
    try:
        return await request.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES)
    except HTTPException as error:
        # Starlette's words for a form that is none, or that has more or larger parts than ours.
        raise malformed(f"the form cannot be read: {error.detail}") from error


def _upload(form: FormData, file_fields: frozenset[str]) -> UploadForm:
    fields: dict[str, str] = {}
    files: dict[str, IO[bytes]] = {}
    for name, value in form.multi_items():
        if name in fields or name in files:
            raise _at_field(name, "repeated", "may be given once")
        if isinstance(value, UploadFile):
            files[_file_field(name, file_fields)] = _whole_file(value)
        else:
            fields[name] = value
    return UploadForm(fields, files)


def _file_field(name: str, file_fields: frozenset[str]) -> str:
    if name not in file_fields:
        raise _at_field(name, "unknown_field", "there is no such file field")
    return name


def _whole_file(upload: UploadFile) -> IO[bytes]:
    """The file's size is what was counted; what the sender called it is of no interest."""
    if (upload.size or 0) > MAX_SAMPLE_BYTES:
        raise payload_too_large(MAX_SAMPLE_BYTES)
    upload.file.seek(0)
    return upload.file


def _at_field(name: str, code: str, detail: str) -> HttpProblem:
    return invalid_field(f"/{name[:64]}", code, detail)
