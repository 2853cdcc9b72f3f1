"""Voices through the API: what may be uploaded, and what becomes of it."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import numpy as np
import pytest
import soundfile

from storage.audio.recording_verdict import Repair
from storage.ids import TenantId
from storage.voices.cache_file import decode_artifact, tensor_values
from tests.api.harness import SMALL, ServedApi
from tests.api.voices.voices import CONSENT, DIMENSION, EMBEDDING, recording, upload, upload_embedding

LOCAL = TenantId("local")

pytestmark = pytest.mark.usefixtures("cloning")


def refused(answer: httpx.Response, status: int, pointer: str, code: str) -> str:
    """The sentence of the one thing that was wrong."""
    assert answer.status_code == status, answer.text
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == (pointer, code)
    return error["detail"]


def post(api: ServedApi, data: dict[str, str], **files: bytes) -> httpx.Response:
    return api.http.post("/v1/voices", data=data, files={name: ("f", body) for name, body in files.items()})


def test_a_recording_becomes_a_voice_with_its_consent(api: ServedApi) -> None:
    audio = recording()
    before = datetime.now(UTC).replace(microsecond=0)

    voice = upload(api, "Ada", audio, language="English", description="calm")
    after = datetime.now(UTC)

    assert (voice["name"], voice["kind"], voice["revision"]) == ("Ada", "own", 1)
    assert (voice["ref_text"], voice["language"], voice["description"]) == ("Hello there.", "English", "calm")
    assert voice["models"] == ["base"]
    sample = voice["sample"]
    assert (sample["kind"], sample["media_type"], sample["bytes"]) == ("recording", "audio/wav", len(audio))
    assert (voice["consent"]["statement"], voice["consent"]["actor"]) == (CONSENT, "local")
    assert before <= datetime.fromisoformat(voice["consent"]["at"]) <= after
    assert api.http.get(voice["links"]["self"]).json() == voice
    assert api.http.get(sample["url"], follow_redirects=True).content == audio


def test_an_embedding_becomes_a_voice_of_its_model(api: ServedApi) -> None:
    voice = upload_embedding(api)

    assert (voice["sample"]["kind"], voice["models"], voice["ref_text"]) == ("embedding", ["base"], "")
    answer = api.http.get(voice["links"]["embedding"], headers={"Accept": "application/json"})
    assert answer.json()["values"] == EMBEDDING.tolist()
    assert (answer.json()["model"], answer.json()["dimension"]) == ("base", DIMENSION)


def test_an_exported_embedding_can_be_uploaded_again(api: ServedApi) -> None:
    voice = upload_embedding(api)
    exported = api.http.get(voice["links"]["embedding"]).content
    assert tensor_values(decode_artifact(exported).x_vector) == tuple(EMBEDDING.tolist())

    answer = post(api, {"name": "Copy", "consent": CONSENT, "model": "base"}, speaker_embedding=exported)

    assert answer.status_code == 201, answer.text
    assert answer.json()["sample"]["sha256"] == voice["sample"]["sha256"]


def test_an_embedding_may_be_a_json_array(api: ServedApi) -> None:
    fields = {"name": "Eve", "consent": CONSENT, "speaker_embedding": json.dumps(EMBEDDING.tolist())}

    content, headers = multipart(fields)
    answer = api.http.post("/v1/voices", content=content, headers=headers)

    assert answer.status_code == 201, answer.text
    assert answer.json()["sample"]["bytes"] == 4 * DIMENSION


def test_an_embedding_may_be_a_json_file(api: ServedApi) -> None:
    voice = upload_embedding(api)
    as_json = api.http.get(voice["links"]["embedding"], headers={"Accept": "application/json"}).content

    for name, file in (("list", json.dumps(EMBEDDING.tolist(), indent=1).encode()), ("answer", as_json)):
        answer = post(api, {"name": name, "consent": CONSENT, "model": "base"}, speaker_embedding=file)
        assert answer.status_code == 201, answer.text
        assert answer.json()["sample"]["sha256"] == voice["sample"]["sha256"]


def test_consents_have_no_ids_any_more(api: ServedApi) -> None:
    answer = post(api, {"name": "Ada", "consent": "con_01m80kqsh4dn7e4yz66x0wd1c8"}, audio_sample=recording())

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/consent")
    assert api.http.get("/v1/consents").status_code == 404


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[1, 2, 3]", "base takes embeddings of 8 numbers, not 3"),
        (b'[1, 2, 3, 4, 5, 6, 7, "8"]', "nothing but numbers"),
        (b"[1, 2, 3, 4, 5, 6, 7, NaN]", "must be finite"),
        (b'{"vector": [1]}', "a JSON list of 8 numbers, 32 bytes of little-endian float32, or an exported voice"),
        (b"0.1 0.2 0.3 0.4", "these 15 bytes are none of them"),
        (b"[" * 100_000, "these 100000 bytes are none of them"),
    ],
)
def test_a_file_that_is_no_embedding_is_refused_with_what_would_be_one(api: ServedApi, data: bytes, said: str) -> None:
    answer = post(api, {"name": "Eve", "consent": CONSENT, "model": "base"}, speaker_embedding=data)

    assert answer.status_code == 422
    assert said in answer.json()["detail"]
    assert "header" not in answer.json()["detail"]


def multipart(fields: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """A form without a file, which httpx would send as another type."""
    parts = [f'--xyz\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items()]
    return ("".join(parts) + "--xyz--\r\n").encode(), {"Content-Type": "multipart/form-data; boundary=xyz"}


@pytest.mark.parametrize("statement", [None, "", "  ", "false", "No"])
def test_nobody_is_cloned_without_consent(api: ServedApi, statement: str | None) -> None:
    traces = api.traces()
    fields = {"name": "Ada"} | ({} if statement is None else {"consent": statement})

    answer = post(api, fields, audio_sample=recording())

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/consent"
    assert api.traces() == traces


@pytest.mark.parametrize(
    ("audio", "code"),
    [
        (b"", "unsupported_media"),
        (b"<html>", "unsupported_media"),
        (recording(0.5), "too_short"),
        (recording()[:60], "unreadable"),
        (b"RIFF\xff\xff\xff\xffWAVE" + b"\0" * 100, "unreadable"),
    ],
)
def test_what_is_no_recording_is_refused_with_the_reason(api: ServedApi, audio: bytes, code: str) -> None:
    traces = api.traces()

    answer = post(api, {"name": "Ada", "consent": CONSENT}, audio_sample=audio)

    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] == "unsupported_media"
    error = answer.json()["errors"][0]
    assert error["pointer"] == "/audio_sample"
    assert error["code"] in {code, "too_short"}
    assert api.traces() == traces


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\0" * 8, "wrong_dimension"),
        (struct.pack("<8f", *[1e6] * 8), "out_of_range"),
        (struct.pack("<8f", 1, 2, 3, float("nan"), 5, 6, 7, 8), "out_of_range"),
        (struct.pack("<8f", *[0.0] * 8), "out_of_range"),
        (b"not an embedding at all", "wrong_dimension"),
    ],
)
def test_what_is_no_embedding_of_the_model_is_refused(api: ServedApi, data: bytes, code: str) -> None:
    answer = post(api, {"name": "Eve", "consent": CONSENT, "model": "base"}, speaker_embedding=data)

    refused(answer, 422, "/speaker_embedding", code)


def test_a_model_that_does_not_clone_takes_no_embedding(api: ServedApi) -> None:
    fields = {"name": "Eve", "consent": CONSENT}

    answer = post(api, {**fields, "model": "small"}, speaker_embedding=EMBEDDING.tobytes())
    refused(answer, 422, "/model", "not_supported")
    answer = post(api, {**fields, "model": "huge"}, speaker_embedding=EMBEDDING.tobytes())
    refused(answer, 404, "/model", "not_found")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a\u202eb", "bidi_control"),
        ("a\tb", "control_character"),
        ("a\x00b", "control_character"),
        (" a", "padded_name"),
        ("voc_1", "reserved_name"),
        ("", "too_short"),
        ("x" * 101, "too_long"),
    ],
)
def test_hostile_names_are_refused(api: ServedApi, name: str, code: str) -> None:
    content, headers = multipart({"name": name, "consent": CONSENT, "speaker_embedding": "[1]"})

    refused(api.http.post("/v1/voices", content=content, headers=headers), 422, "/name", code)


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "/", "a\\b", "CON", "😀", "ze\u0301", "a|b", "{x}:y*"])
def test_a_name_is_data_and_never_a_path(api: ServedApi, name: str) -> None:
    voice = upload_embedding(api, name)

    keys, objects = api.traces()
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789_:{}") for key in keys)
    assert objects == [f"voices/local/{voice['id']}/{objects[0].rpartition('/')[2]}"]
    listed = api.http.get("/v1/voices", params={"name": name}).json()["data"]
    assert [each["id"] for each in listed] == [voice["id"]]


def test_a_name_is_taken_once_and_never_from_a_built_in_voice(api: ServedApi) -> None:
    upload_embedding(api, "Ada")
    objects = list(api.objects.list("voices/"))

    for name in ("ADA", "alice"):
        answer = post(api, {"name": name, "consent": CONSENT}, audio_sample=recording())
        assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")
    assert list(api.objects.list("voices/")) == objects


def test_fields_that_nobody_knows_are_refused(api: ServedApi) -> None:
    fields = {"name": "Ada", "consent": CONSENT}

    refused(post(api, {**fields, "tempo": "1"}, audio_sample=recording()), 422, "/tempo", "unknown_field")
    refused(post(api, fields, audio=recording()), 422, "/audio", "unknown_field")
    refused(post(api, fields, none=b""), 422, "/none", "unknown_field")
    content, headers = multipart(fields)
    refused(api.http.post("/v1/voices", content=content, headers=headers), 422, "/audio_sample", "missing")


def test_a_form_that_is_none_is_malformed(api: ServedApi) -> None:
    answer = api.http.post(
        "/v1/voices", content=b"?" * 40, headers={"Content-Type": "multipart/form-data; boundary=xyz"}
    )
    assert answer.status_code == 400, answer.text
    answer = api.http.post("/v1/voices", content=b"", headers={"Content-Type": "multipart/form-data"})
    assert answer.status_code == 400, answer.text
    assert api.http.post("/v1/voices", json={"name": "Ada"}).status_code == 415


def test_a_compressed_form_is_refused_unread(api: ServedApi) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=xyz", "Content-Encoding": "gzip"}

    assert api.http.post("/v1/voices", content=b"\x1f\x8b", headers=headers).status_code == 415


def test_a_voice_is_renamed_and_described(api: ServedApi) -> None:
    voice = upload_embedding(api, "Ada")

    answer = api.http.patch(
        voice["links"]["self"], json={"name": "Grace", "description": "older", "metadata": {"book": "42"}}
    )

    assert answer.status_code == 200, answer.text
    changed = answer.json()
    assert (changed["name"], changed["description"], changed["metadata"]) == ("Grace", "older", {"book": "42"})
    assert changed["revision"] == 1
    assert api.http.patch(voice["links"]["self"], json={"name": "Bob"}).json()["code"] == "name_taken"
    refused(api.http.patch(voice["links"]["self"], json={"ref_text": "x"}), 422, "/ref_text", "unknown_field")


def test_another_recording_is_another_revision(api: ServedApi) -> None:
    voice = upload(api, "Ada")
    other = recording(pitch_hz=330)

    answer = api.http.put(
        voice["sample"]["url"],
        data={"consent": "yes, again", "ref_text": "Other words."},
        files={"audio_sample": ("x", other)},
    )

    assert answer.status_code == 200, answer.text
    changed = answer.json()
    assert (changed["revision"], changed["ref_text"]) == (2, "Other words.")
    assert changed["consent"]["statement"] == "yes, again"
    assert api.http.get(voice["sample"]["url"], follow_redirects=True).content == other


def test_a_deleted_voice_is_gone_with_its_recording(api: ServedApi) -> None:
    voice = upload(api, "Ada")

    assert api.http.delete(voice["links"]["self"]).status_code == 204
    assert api.http.delete(voice["links"]["self"]).status_code == 204

    assert api.http.get(voice["links"]["self"]).status_code == 410
    assert api.http.get(voice["sample"]["url"]).status_code == 410
    assert list(api.objects.list("voices/")) == []
    upload_embedding(api, "Ada")


def test_unknown_voices_are_not_found(api: ServedApi) -> None:
    for voice in ("voc_01m7y0000000000000000000zz", "Ada", "..%2f..", "voc_x"):
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/sample"), ("GET", "/embedding")):
            answer = api.http.request(method, f"/v1/voices/{voice}{path}")
            assert (answer.status_code, answer.json()["code"]) in {(404, "voice_not_found"), (404, "not_found")}


def test_built_in_voices_are_listed_before_own_ones_page_by_page(api: ServedApi) -> None:
    own = [upload_embedding(api, f"voice {n}") for n in range(3)]

    first = api.http.get("/v1/voices", params={"limit": 2}).json()
    second = api.http.get("/v1/voices", params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [(voice["kind"], voice["name"], voice["models"]) for voice in first["data"][:2]] == [
        ("built_in", "Alice", ["small"]),
        ("built_in", "Bob", ["small"]),
    ]
    assert first["data"][2:] + second["data"] == own[::-1]
    assert (first["has_more"], second["has_more"]) == (True, False)
    assert [v["name"] for v in api.http.get("/v1/voices", params={"kind": "built_in"}).json()["data"]] == [
        "Alice",
        "Bob",
    ]
    assert api.http.get("/v1/voices", params={"kind": "own"}).json()["data"] == own[::-1]
    assert [v["name"] for v in api.http.get("/v1/voices", params={"name": "aLICE"}).json()["data"]] == ["Alice"]
    assert api.http.get("/v1/voices", params={"cursor": "nonsense"}).status_code == 422


def test_the_embedding_of_a_recording_waits_for_its_cache(api: ServedApi) -> None:
    voice = upload(api, "Ada")

    answer = api.http.get(voice["links"]["embedding"])

    assert (answer.status_code, answer.json()["code"]) == (409, "voice_cache_not_ready")


def test_the_recording_is_cut_off_at_ten_mebibytes_whatever_is_claimed(api: ServedApi) -> None:
    """The session's API takes 400 kB of any body; the same counter bounds recordings."""

    def endless() -> Iterator[bytes]:
        yield b'--xyz\r\nContent-Disposition: form-data; name="audio_sample"; filename="a"\r\n\r\n'
        for _ in range(20):
            yield np.zeros(40_000, np.uint8).tobytes()

    headers = {"Content-Type": "multipart/form-data; boundary=xyz"}
    answer = api.http.post("/v1/voices", content=endless(), headers=headers)

    assert answer.status_code == 413
    assert list(api.objects.list("voices/")) == []


# Built-in voices


def test_a_built_in_voice_of_kokoro_says_its_accent_and_sex(api: ServedApi) -> None:
    said = {"af_heart": "American woman", "am_adam": "American man", "bf_emma": "British woman"}
    api.models.publish(replace(SMALL, name="kokoro", speakers=(*said, "ada", "bm")))

    listed = {each["name"]: each["description"] for each in api.http.get("/v1/voices").json()["data"]}

    assert said.items() <= listed.items()
    assert api.http.get("/v1/voices/bf_emma").json()["description"] == "British woman"
    assert {listed["ada"], listed["bm"]} == {""}


def test_a_built_in_voice_is_read_by_its_name(api: ServedApi) -> None:
    shown = api.http.get("/v1/voices/alice")

    listed = next(each for each in api.http.get("/v1/voices").json()["data"] if each["name"] == "Alice")
    assert (shown.status_code, shown.json()) == (200, listed)
    missing = api.http.get("/v1/voices/nobody")
    assert (missing.status_code, missing.json()["code"]) == (404, "voice_not_found")


def test_a_built_in_voice_is_heard_like_ones_own(api: ServedApi) -> None:
    job = api.http.post("/v1/voices/ALICE/preview", json={"text": "Good morning.", "seed": 3})

    asked = job.json()["request"]
    assert (job.status_code, asked["voice"], asked["model"], asked["priority"]) == (202, "Alice", "small", "high")
    assert job.json()["metadata"] == {"preview_of": "Alice"}
    assert api.http.post("/v1/voices/nobody/preview").status_code == 404


def test_of_a_long_recording_the_best_minute_is_used_and_the_answer_says_so(api: ServedApi) -> None:
    file = io.BytesIO()
    soundfile.write(file, np.sin(np.arange(61 * 8_000) / 10) / 2, 8_000, format="MP3", bitrate_mode="VARIABLE")
    sample = file.getvalue()

    voice = upload(api, "Long", sample, ref_text="")

    assert voice["sample"]["repairs"] == [Repair.CUT]
    assert 59 < voice["sample"]["duration_s"] <= 60
    assert api.http.get(voice["links"]["self"]).json() == voice
    answer = post(api, {"name": "Told", "consent": CONSENT, "ref_text": "All of it."}, audio_sample=sample)
    assert "leave `ref_text` out" in refused(answer, 422, "/audio_sample", "too_long")
