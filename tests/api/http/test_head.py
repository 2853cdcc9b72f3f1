"""HEAD of every address that the contract has a GET for."""

from __future__ import annotations

import re

from tests.api.harness import ServedApi, finish_job
from tests.api.openapi.contract import document

SEVERAL = ("content-type", "etag", "location", "x-audio-partial")


def test_head_says_what_get_says_and_has_no_body(api: ServedApi) -> None:
    job = api.submit()
    finish_job(api)
    names = {"job_id": job["id"], "segment": "seg_000000", "name": "narration.wav", "model_name": "small"}
    read = sorted(path for path, operations in document()["paths"].items() if "get" in operations)
    assert len(read) >= 50

    answered = set[int]()
    for template in read:
        path = re.sub(r"{(\w+)(?::path)?}", lambda found: names.get(found[1], "nothing"), template)
        head = api.http.head(path)
        with api.http.stream("GET", path) as got:
            assert (template, head.status_code) == (template, got.status_code)
            same = [*SEVERAL] if got.status_code < 300 else ["content-type"]
            assert [head.headers.get(name) for name in same] == [got.headers.get(name) for name in same], template
        assert head.content == b""
        answered.add(got.status_code)

    assert {200, 302, 404} <= answered


def test_head_of_a_stream_ends(api: ServedApi) -> None:
    job = api.submit()

    events, audio = api.http.head(job["links"]["events"]), api.http.head(job["links"]["audio"])

    assert (events.status_code, events.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    assert audio.status_code == 200
    assert 'route="/v1/jobs/{job_id}/events"' in api.http.get("/metrics").text


def test_what_nothing_reads_has_no_head(api: ServedApi) -> None:
    refused = api.http.head("/v1/voices/blend/nothing/at/all")
    written = api.http.head("/v1/batches/bat_01m80784j05b6jp6sa8yyjk52f/cancel")

    assert refused.status_code == 404
    assert (written.status_code, written.headers["allow"]) == (405, "POST")
