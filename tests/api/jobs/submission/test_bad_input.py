"""Every input that cannot become speech is refused with a code and a pointer, and leaves nothing behind."""

from __future__ import annotations

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.api.harness import SMALL, ServedApi

TEXT = {"text": "Good morning."}


@dataclass(frozen=True)
class Refusal:
    status: int
    code: str
    pointer: str | None = None
    reason: str | None = None


def text(spoken: str) -> dict[str, Any]:
    return {"input": {"text": spoken}}


def fields(**more: Any) -> dict[str, Any]:
    return {"input": TEXT, **more}


def bad(pointer: str, reason: str) -> Refusal:
    return Refusal(422, "invalid_request", pointer, reason)


BAD_BODIES: dict[str, tuple[Any, Refusal]] = {
    "empty text": (text(""), bad("/input/text", "empty_text")),
    "whitespace": (text(" \n\t \u3000"), bad("/input/text", "empty_text")),
    "only symbols": (text("*** --- ??? \u2014 \U0001f600"), bad("/input/text", "nothing_speakable")),
    "over the limit": (text("word " * 25_000), Refusal(422, "text_too_long", "/input/text", "too_long")),
    "a word without end": (text("Say " + "a" * 20_000), bad("/input/text", "word_too_long")),
    "NUL": (text("a\x00b"), bad("/input/text", "control_character")),
    "escape": (text("a\x1b[31mb"), bad("/input/text", "control_character")),
    "C1 control": (text("a\x85b"), bad("/input/text", "control_character")),
    "bidi override": (text("a\u202eb"), bad("/input/text", "bidi_control")),
    "bidi isolate": (text("a\u2066b"), bad("/input/text", "bidi_control")),
    "noncharacter": (text("a\uffffb"), bad("/input/text", "control_character")),
    "speakers of a job": (
        {"input": {**TEXT, "find_speakers": True}},
        bad("/input/find_speakers", "not_allowed"),
    ),
    "lines of SSML": (
        {"input": {"ssml": "<speak>a</speak>", "lines": {"Mary": ["0a0b0c0d"]}}},
        bad("/input", "not_allowed"),
    ),
    "a line of nobody": ({"input": {**TEXT, "lines": {"Mary": ["0a0b0c0d"]}}}, bad("/input/lines", "not_found")),
    "a line's id": (
        {"input": {**TEXT, "lines": {"Mary": ["x"]}}},
        bad("/input/lines/Mary/0", "string_pattern_mismatch"),
    ),
    "no input": ({}, bad("/input", "missing")),
    "no text": ({"input": {}}, bad("/input", "missing")),
    "text is a number": ({"input": {"text": 7}}, bad("/input/text", "wrong_type")),
    "text is null": ({"input": {"text": None}}, bad("/input", "missing")),
    "input is a text": ({"input": "hello"}, bad("/input", "wrong_type")),
    "body is a list": ([1], bad("", "wrong_type")),
    "unknown field": (fields(voise="alice"), bad("/voise", "unknown_field")),
    "unknown inner field": (fields(sampling={"temp": 1}), bad("/sampling/temp", "unknown_field")),
    "a bucket of the caller's": (fields(output={"bucket": {"bucket": "mine"}}), bad("/output/bucket", "unknown_field")),
    "pointer is escaped": (fields(**{"a/b~c": 1}), bad("/a~1b~0c", "unknown_field")),
    "two inputs": ({"input": {"text": "Hello.", "ssml": "<speak>Hello.</speak>"}}, bad("/input", "not_allowed")),
    "SSML without a word": ({"input": {"ssml": "<speak/>"}}, bad("/input/ssml", "empty_text")),
    "a mode of SSML without any": ({"input": {"text": "Hi.", "ssml_mode": "lenient"}}, bad("/input", "not_allowed")),
    "lenient SSML that ends too soon": (
        {"input": {"ssml": "<speak>Hello.", "ssml_mode": "lenient"}},
        bad("/input/ssml", "invalid_ssml"),
    ),
    "SSML that ends too soon": ({"input": {"ssml": "<speak>Hello."}}, bad("/input/ssml", "invalid_ssml")),
    "SSML that nobody reads": (
        {"input": {"ssml": "<speak><prosody pitch='high'>Hello.</prosody></speak>"}},
        bad("/input/ssml", "invalid_ssml"),
    ),
    "SSML with a document type": (
        {"input": {"ssml": '<!DOCTYPE speak [<!ENTITY a "b">]><speak>&a;</speak>'}},
        bad("/input/ssml", "invalid_ssml"),
    ),
    "SSML with a voice nobody has": (
        {"input": {"ssml": "<speak><voice name='nobody'>Hello.</voice></speak>"}},
        Refusal(404, "voice_not_found", "/input/ssml"),
    ),
    "SSML in a language of another model": (
        {"input": {"ssml": "<speak><lang xml:lang='fr'>Salut.</lang></speak>"}},
        Refusal(422, "unsupported_language", "/input/ssml"),
    ),
    "more voices than a job has": (
        {"input": {"ssml": "<speak>" + "".join(f"<voice name='v{n}'>Hi.</voice>" for n in range(65)) + "</speak>"}},
        bad("/input", "too_many"),
    ),
    "SSML that is too long": (
        {"input": {"ssml": "<speak>" + "word " * 20_001 + "</speak>"}},
        Refusal(422, "text_too_long", "/input/ssml"),
    ),
    "a text in place of a list": (fields(output={"formats": "mp3"}), bad("/output/formats", "wrong_type")),
    "no entries": ({"input": {"segments": []}}, bad("/input/segments", "too_short")),
    "an entry without text": ({"input": {"segments": [{"voice": "Bob"}]}}, bad("/input/segments/0/text", "missing")),
    "an entry by two": (
        {"input": {"segments": [{"text": "Hello.", "voice": "Bob", "speaker": "B"}]}, "speakers": {"B": "Bob"}},
        bad("/input/segments/0", "not_allowed"),
    ),
    "an entry of a stranger": (
        {"input": {"segments": [{"text": "One."}, {"text": "Hello.", "speaker": "B"}]}, "speakers": {"A": "Bob"}},
        bad("/input/segments/1/speaker", "not_found"),
    ),
    "an entry in another language": (
        {"input": {"segments": [{"text": "Hello.", "language": "French"}]}},
        Refusal(422, "unsupported_language", "/input/segments/0/language"),
    ),
    "a cast with a stranger": (fields(speakers={"A/B": "nobody"}), Refusal(404, "voice_not_found", "/speakers/A~1B")),
    "a cast with one name twice": (fields(speakers={"Fox": "Bob", "FOX": "Alice"}), bad("/speakers", "not_allowed")),
    "a document that was not uploaded": (
        {"input": {"document": {"upload_id": "upl_01jd0000000000000000000000", "format": "epub"}}},
        bad("/input/document/upload_id", "not_found"),
    ),
    "a document of a kind nobody reads": (
        {"input": {"document": {"upload_id": "upl_01jd0000000000000000000000", "format": "rtf"}}},
        bad("/input/document/format", "not_allowed"),
    ),
    "normalisation of a language to be guessed": (
        fields(normalization="basic"),
        bad("/normalization", "not_supported"),
    ),
    "a dictionary that is none": (
        fields(pronunciation_dictionaries=["my words"]),
        bad("/pronunciation_dictionaries/0", "wrong_type"),
    ),
    "a dictionary that is not there": (
        fields(pronunciation_dictionaries=["pd_01jd0000000000000000000000@1"]),
        bad("/pronunciation_dictionaries/0", "not_found"),
    ),
    "unknown voice": (fields(voice="nobody"), Refusal(404, "voice_not_found", "/voice")),
    "empty voice": (fields(voice=""), bad("/voice", "too_short")),
    "unknown model": (fields(model="huge"), Refusal(404, "model_not_available", "/model")),
    "unknown language": (fields(language="Klingon"), Refusal(422, "unsupported_language", "/language")),
    "language is null": (fields(language=None), bad("/language", "wrong_type")),
    "temperature too high": (fields(sampling={"temperature": 2.1}), bad("/sampling/temperature", "out_of_range")),
    "temperature negative": (fields(sampling={"temperature": -0.1}), bad("/sampling/temperature", "out_of_range")),
    "temperature next to zero": (fields(sampling={"temperature": 1e-30}), bad("/sampling/temperature", "out_of_range")),
    "temperature as text": (fields(sampling={"temperature": "0.9"}), bad("/sampling/temperature", "wrong_type")),
    "temperature as boolean": (fields(sampling={"temperature": True}), bad("/sampling/temperature", "wrong_type")),
    "temperature beyond float": (fields(sampling={"temperature": 10**400}), bad("/sampling/temperature", "wrong_type")),
    "top_p zero": (fields(sampling={"top_p": 0}), bad("/sampling/top_p", "out_of_range")),
    "top_k fraction": (fields(sampling={"top_k": 1.5}), bad("/sampling/top_k", "wrong_type")),
    "top_k zero": (fields(sampling={"top_k": 0}), bad("/sampling/top_k", "out_of_range")),
    "penalty": (fields(sampling={"repetition_penalty": 0.5}), bad("/sampling/repetition_penalty", "out_of_range")),
    "seed negative": (fields(seed=-1), bad("/seed", "out_of_range")),
    "seed boolean": (fields(seed=True), bad("/seed", "wrong_type")),
    "seed inexact": (fields(seed=2**53), bad("/seed", "out_of_range")),
    "target too small": (fields(segmentation={"target_chars": 1}), bad("/segmentation/target_chars", "out_of_range")),
    "short over target": (
        fields(segmentation={"min_chars": 200, "target_chars": 100}),
        bad("/segmentation", "out_of_range"),
    ),
    "target over cap": (fields(segmentation={"target_chars": 500}), bad("/segmentation", "out_of_range")),
    "segmentation mode": (fields(segmentation={"mode": "word"}), bad("/segmentation/mode", "not_allowed")),
    "pause": (fields(pauses={"sentence_s": 11}), bad("/pauses/sentence_s", "out_of_range")),
    "format": (fields(output={"formats": [{"type": "wma"}]}), bad("/output/formats/0/type", "not_allowed")),
    "format without this rate": (
        fields(output={"formats": [{"type": "wav"}, {"type": "opus"}], "sample_rate": 44100}),
        bad("/output/formats/1/type", "not_supported"),
    ),
    "sample rate": (fields(output={"sample_rate": 23_000}), bad("/output/sample_rate", "not_allowed")),
    "unknown tag": (fields(output={"tags": {"colour": "red"}}), bad("/output/tags/colour", "unknown_field")),
    "no format": (fields(output={"formats": []}), bad("/output/formats", "too_short")),
    "priority": (fields(priority="urgent"), bad("/priority", "not_allowed")),
    "deadline passed": (fields(deadline="2020-01-01T00:00:00Z"), bad("/deadline", "in_the_past")),
    "deadline beyond the calendar": (
        fields(deadline="9999-12-31T23:59:59-14:00"),
        bad("/deadline", "out_of_range"),
    ),
    "deadline without zone": (fields(deadline="2040-01-01T00:00:00"), bad("/deadline", "not_a_date_time")),
    "deadline as number": (fields(deadline=4_000_000_000), bad("/deadline", "wrong_type")),
    "retention": (fields(retention_s=1), bad("/retention_s", "out_of_range")),
    "metadata value": (fields(metadata={"a": 1}), bad("/metadata/a", "wrong_type")),
    "metadata control": (fields(metadata={"a": "x\ny"}), bad("/metadata/a", "control_character")),
    "metadata key": (fields(metadata={"k" * 65: "x"}), bad(f"/metadata/{'k' * 65}", "too_long")),
    "metadata count": (fields(metadata={str(n): "x" for n in range(17)}), bad("/metadata", "too_long")),
    "instructions control": (fields(instructions="a\x07b"), bad("/instructions", "control_character")),
    "instructions long": (fields(instructions="a" * 2_001), bad("/instructions", "too_long")),
}


@pytest.mark.parametrize(("body", "refusal"), BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_a_bad_request_is_refused_with_code_and_pointer_and_leaves_nothing(
    api: ServedApi, body: Any, refusal: Refusal
) -> None:
    answer = api.http.post(
        "/v1/jobs", content=json.dumps(body), headers={"Content-Type": "application/json", "Idempotency-Key": "k"}
    )

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (refusal.status, refusal.code), problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["errors"][0]["pointer"] == refusal.pointer
    assert refusal.reason is None or problem["errors"][0]["code"] == refusal.reason
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert api.traces() == ([], [])


BAD_BYTES: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 400, "needs a JSON body"),
    "not JSON": (b"{", 400, "not JSON"),
    "not UTF-8": (b'{"input": {"text": "caf\xe9"}}', 400, "not UTF-8"),
    "UTF-8 of a surrogate": (b'{"input": {"text": "\xed\xa0\x80"}}', 400, "not UTF-8"),
    "half a surrogate pair": (b'{"input": {"text": "a \\ud800 b"}}', 422, "surrogate"),
    "a surrogate as field": (b'{"input": {"text": "a"}, "\\udc00": 1}', 422, "surrogate"),
    "a surrogate as metadata": (b'{"input": {"text": "a"}, "metadata": {"\\udc00": "1"}}', 422, "surrogate"),
    "a float that overflows": (b'{"input": {"text": "a"}, "sampling": {"temperature": 1e999}}', 422, "finite"),
    "a byte order mark": (b'\xef\xbb\xbf{"input": {"text": "a"}}', 400, "not JSON"),
    "NaN": (b'{"input": {"text": "a"}, "sampling": {"temperature": NaN}}', 400, "NaN"),
    "infinity": (b'{"input": {"text": "a"}, "sampling": {"temperature": -Infinity}}', 400, "Infinity"),
    "a key twice": (b'{"input": {"text": "a"}, "seed": 1, "seed": 2}', 400, '"seed" appears twice'),
    "too deep": (b"[" * 100_000, 400, "nested"),
    "an endless number": (b'{"seed": ' + b"1" * 5_000 + b"}", 400, "a number has 5,000 digits"),
    "no object": (b"7", 422, "must be a JSON object"),
}


@pytest.mark.parametrize(("body", "status", "sentence"), BAD_BYTES.values(), ids=BAD_BYTES.keys())
def test_bytes_that_are_no_request_are_refused_and_leave_nothing(
    api: ServedApi, body: bytes, status: int, sentence: str
) -> None:
    answer = api.http.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == status, answer.text
    assert answer.json()["code"] == "invalid_request"
    assert sentence in answer.json()["detail"]
    assert api.traces() == ([], [])


def test_every_fault_of_a_request_is_named_at_once(api: ServedApi) -> None:
    answer = api.http.post("/v1/jobs", json=fields(seed=-1, priority="urgent", voise="alice"))

    assert {error["pointer"] for error in answer.json()["errors"]} == {"/seed", "/priority", "/voise"}


def test_a_list_with_a_fault_is_not_said_to_be_too_short_as_well(api: ServedApi) -> None:
    wrong = api.http.post("/v1/jobs", json=fields(output={"formats": [{"type": "mp4"}]})).json()
    empty = api.http.post("/v1/jobs", json=fields(output={"formats": [], "subtitles": ["srt", "vtt", "srt"]})).json()

    assert [each["pointer"] for each in wrong["errors"]] == ["/output/formats/0/type"]
    assert [each["detail"] for each in empty["errors"]] == ["must have at least 1 entry", "must have at most 2 entries"]


def test_an_unknown_voice_is_answered_with_the_names_there_are(api: ServedApi) -> None:
    detail = api.http.post("/v1/jobs", json=fields(voice="Alicia")).json()["detail"]

    assert "Alice, Bob" in detail


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_a_body_of_another_kind_is_unsupported(api: ServedApi, headers: dict[str, str]) -> None:
    answer = api.http.post("/v1/jobs", content=b'{"input": {"text": "a"}}', headers=headers)

    assert answer.status_code == 415
    assert answer.json()["code"] == "unsupported_media"
    assert api.traces() == ([], [])


@pytest.mark.parametrize("key", ["", "k" * 256, "caf\xe9", "a\tb"])
def test_an_idempotency_key_that_is_none_is_refused(api: ServedApi, key: str) -> None:
    headers = [(b"Idempotency-Key", key.encode("latin-1"))]

    answer = api.http.post("/v1/jobs", json={"input": TEXT}, headers=headers)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["header"] == "Idempotency-Key"
    assert api.traces() == ([], [])


def test_tabs_and_line_ends_may_be_spoken_over(api: ServedApi) -> None:
    assert api.submit("First line.\r\n\tSecond line.\n")["state"] == "pending"


def test_a_chinese_sentence_without_spaces_is_not_a_long_word(api: ServedApi) -> None:
    api.models.publish(replace(SMALL, languages=("chinese", "english")))

    assert api.submit("\u4e2d\u6587" * 2_000)["state"] == "pending"


def test_a_large_body_is_refused_before_it_is_read(api: ServedApi) -> None:
    answer = api.http.post("/v1/jobs", json=text("a " * 2_500_000))

    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    assert api.traces() == ([], [])


def test_a_large_body_that_does_not_tell_its_size_is_cut_off(api: ServedApi) -> None:
    pieces = (b" " * 65_536 for _ in range(12))

    answer = api.http.post("/v1/jobs", content=pieces, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    assert api.traces() == ([], [])


def test_a_body_longer_than_it_claims_is_refused(api: ServedApi) -> None:
    with sending(api, b'{"input": {"text": "Good morning, everybody."}}', claimed=30) as connection:
        answer = everything(connection)

    assert answer.startswith(b"HTTP/1.1 400")
    assert api.traces() == ([], [])


def test_a_body_shorter_than_it_claims_leaves_nothing(api: ServedApi) -> None:
    with sending(api, b'{"input": {"text": "Good morning."}}', claimed=300) as connection:
        connection.shutdown(socket.SHUT_WR)
        everything(connection)

    assert api.traces() == ([], [])


@pytest.mark.parametrize("claimed", ["-5", "many"])
def test_a_content_length_that_is_no_number_is_refused(api: ServedApi, claimed: str) -> None:
    with sending(api, b"{}", claimed) as connection:
        answer = everything(connection)

    assert answer.startswith(b"HTTP/1.1 400")
    assert api.traces() == ([], [])


@contextmanager
def sending(api: ServedApi, body: bytes, claimed: int | str) -> Generator[socket.socket]:
    """A connection on which a body was sent under a Content-Length of our choice."""
    host, port = api.url.removeprefix("http://").split(":")
    lines = ("POST /v1/jobs HTTP/1.1", f"Host: {host}", "Content-Type: application/json", f"Content-Length: {claimed}")
    head = "".join(f"{line}\r\n" for line in (*lines, "Connection: close", ""))
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head.encode() + body)
        yield connection


def everything(connection: socket.socket) -> bytes:
    answer = b""
    while piece := connection.recv(65_536):
        answer += piece
    return answer
