"""What the client makes of a refusal's `type`."""

from __future__ import annotations

import httpx
import pytest

from rhapsode.client.refusals import read_error

ASKED = "http://tts.example:8765/v1/jobs/job_1"


def page_told(kind: str | None) -> str:
    document = {"title": "No", "code": "not_found"} | ({} if kind is None else {"type": kind})
    return read_error(httpx.Response(404, json=document, request=httpx.Request("GET", ASKED))).page


@pytest.mark.parametrize(
    ("kind", "page"),
    [
        ("/errors/not_found", "http://tts.example:8765/errors/not_found"),
        ("https://docs.example/errors/not_found", "https://docs.example/errors/not_found"),
        ("urn:problem:not-found", ""),
        ("about:blank", ""),
        ("javascript:alert(1)", ""),
        ("http://[x]/", ""),
        (None, ""),
    ],
)
def test_a_type_is_resolved_against_the_address_that_was_asked(kind: str | None, page: str) -> None:
    assert page_told(kind) == page


def test_what_openai_calls_an_error_has_no_page() -> None:
    document = {"error": {"message": "no", "code": "not_found"}}
    answer = httpx.Response(404, json=document, request=httpx.Request("POST", "http://tts.example/v1/audio/speech"))

    assert read_error(answer).page == ""
