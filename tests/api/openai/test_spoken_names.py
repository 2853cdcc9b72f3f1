"""Which model and voice a call means: names of the server, names that stand for them, and what a task wants."""

from __future__ import annotations

import base64
import dataclasses
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from api.services import container
from api.settings import ApiSettings
from api.voices.upload import MAX_SAMPLE_BYTES
from storage.narration.aliases import Aliases
from storage.objects.keys import JOBS
from storage.webhooks.http import safe_client
from tests.api.harness import SMALL, ServedApi, serve
from tests.api.voices.voices import BASE, CONSENT, EMBEDDING, recording, upload_embedding
from tests.storage.runtime.egress.listeners import answers, listener
from tests.threads import join_in_time

TEXT = {"input": "The wind and the sun were disputing."}
DESIGN = dataclasses.replace(SMALL, name="design", task="voice_design", speakers=())


def ordered(api: ServedApi, **fields: object) -> dict[str, Any]:
    """The request of the job that an order comes to."""
    answer = api.http.post("/v1/audio/speech", json=TEXT | fields, headers={"Prefer": "respond-async"})
    assert answer.status_code == 202, answer.text
    return answer.json()["request"]


def refused(api: ServedApi, **fields: object) -> tuple[str, str]:
    """Which field, and why."""
    answer = api.http.post("/v1/audio/speech", json=TEXT | fields)
    assert answer.status_code == 422, answer.text
    return answer.json()["error"]["param"], answer.json()["error"]["message"]


@pytest.mark.parametrize("model", [None, "tts-1", "TTS-1-HD", "gpt-4o-mini-tts", "gpt-4o-mini-tts-2025-12-15"])
def test_openais_names_speak_with_this_servers_model_and_a_voice_of_it(api: ServedApi, model: str | None) -> None:
    said = [ordered(api, model=model, voice=voice) for voice in ("alloy", "ash", None)]

    assert {request["model"] for request in said} == {"small"}
    assert [request["voice"] for request in said] == ["Alice", "Bob", "Alice"]


def test_openais_voices_mean_the_same_in_jobs(api: ServedApi) -> None:
    jobs = [api.submit(voice=voice)["request"]["voice"] for voice in ("alloy", "ash")]
    cast = api.submit(voice="alloy", speakers={"MARY": "Ash"})["request"]
    unknown = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "voice": "nobody"})

    assert jobs == [ordered(api, voice=voice)["voice"] for voice in ("alloy", "ash")]
    assert cast["speakers"]["MARY"] == "Bob"
    assert unknown.status_code == 404


@pytest.mark.parametrize("model", ["tts-1", "TTS-1-HD", "gpt-4o-mini-tts-2025-12-15"])
def test_openais_models_mean_the_same_in_jobs(api: ServedApi, model: str) -> None:
    unknown = api.http.post("/v1/jobs", json={"input": {"text": "Hello."}, "model": "nobody"})

    assert api.submit(model=model)["request"]["model"] == ordered(api, model=model)["model"] == "small"
    assert (unknown.status_code, unknown.json()["code"]) == (404, "model_not_available")


def test_a_voice_of_the_caller_goes_before_openais(cloning: ServedApi) -> None:
    upload_embedding(cloning, "alloy")

    request = cloning.submit(model="base", voice="alloy")["request"]

    assert (request["voice"], request["own_voice"]["mode"]) == ("alloy", "x_vector")


def test_speaker_is_another_word_for_voice(api: ServedApi) -> None:
    assert ordered(api, model="small", speaker="bob")["voice"] == "Bob"


def test_a_name_that_the_server_has_is_never_taken_for_another(api: ServedApi) -> None:
    api.models.publish(dataclasses.replace(SMALL, name="tts-1", speakers=("alloy", "zoe")))

    request = ordered(api, model="tts-1", voice="Alloy")

    assert (request["model"], request["voice"]) == ("tts-1", "alloy")


def test_names_are_folded_and_unknown_ones_stay() -> None:
    names = Aliases(models={"Narrator": "small"}, voices={"Alloy": "Zoe"})

    assert [names.model(name, {"tts-1-hd"}) for name in ("narrator", "other", "tts-1", "tts-1-hd", None)] == [
        "small",
        "other",
        None,
        "tts-1-hd",
        None,
    ]
    assert names.voice("ALLOY", ("Ada",)) == "Zoe"
    assert (names.voice("nobody", ("Ada",)), names.voice("nova", ("Ada",)), names.voice("nova", ())) == (
        "nobody",
        "Ada",
        None,
    )


@pytest.fixture
def naming(api_settings: ApiSettings) -> Iterator[ServedApi]:
    aliases = Aliases(models={"narrator": "small"}, voices={"boss": "Bob"})
    with serve(api_settings.model_copy(update={"aliases": aliases})) as api:
        api.models.publish(SMALL)
        yield api


def test_an_operator_gives_names_of_its_own(naming: ServedApi) -> None:
    request = ordered(naming, model="Narrator", voice="boss")

    assert (request["model"], request["voice"]) == ("small", "Bob")
    assert naming.http.get("/v1/audio/voices/boss").json() == {"name": "boss", "models": ["small"], "alias_of": "Bob"}


def test_a_task_chooses_the_model_that_is_made_for_it(cloning: ServedApi) -> None:
    cloning.models.publish(DESIGN)
    upload_embedding(cloning, "Eve")

    designed = ordered(cloning, task_type="VoiceDesign", voice="alloy", instructions="An old man.")
    own = ordered(cloning, task_type="CustomVoice", voice="alice")
    cloned = ordered(cloning, task_type="Base", voice="Eve")

    assert (designed["model"], designed["voice"]) == ("design", "")
    assert (own["model"], own["voice"]) == ("small", "Alice")
    assert (cloned["model"], cloned["voice"]) == ("base", "Eve")


def test_a_task_that_a_request_contradicts_is_refused(cloning: ServedApi) -> None:
    upload_embedding(cloning, "Eve")

    assert refused(cloning, task_type="Base")[0] == "ref_audio"
    assert refused(cloning, task_type="VoiceDesign")[0] == "task_type"
    assert refused(cloning, task_type="VoiceDesign", model="small")[0] == "task_type"
    assert refused(cloning, task_type="CustomVoice", voice="Eve") == (
        "voice",
        "/voice: CustomVoice speaks with small's own voices: Alice, Bob",
    )
    assert refused(cloning, task_type="CustomVoice", speaker_embedding=[0.5] * 4)[0] == "speaker_embedding"


def test_an_embedding_comes_as_a_list_of_exactly_as_many_numbers(cloning: ServedApi) -> None:
    given = {"speaker_embedding": EMBEDDING.tolist(), "consent": CONSENT}

    request = ordered(cloning, voice="alloy", x_vector_only_mode=True, **given)

    assert (request["model"], request["voice"]) == ("base", "speaker_embedding")
    short = given | {"speaker_embedding": EMBEDDING.tolist()[:-1]}
    assert f"{len(EMBEDDING)} numbers, not {len(EMBEDDING) - 1}" in refused(cloning, **short)[1]
    assert refused(cloning, **given, ref_audio="https://example.com/a.wav")[1].startswith("`ref_audio` and")
    assert refused(cloning, speaker_embedding=EMBEDDING.tolist())[0] == "consent"


def data_url(audio: bytes) -> str:
    return f"data:audio/wav;base64,{base64.b64encode(audio).decode()}"


def test_a_recording_comes_with_the_request(cloning: ServedApi) -> None:
    audio = recording()
    given = {"ref_audio": data_url(audio), "consent": CONSENT}

    plain = ordered(cloning, **given)
    in_context = ordered(cloning, **given, ref_text="What it says.", voice="auto")
    alone = ordered(cloning, **given, x_vector_only_mode=True)

    modes = [request["own_voice"]["mode"] for request in (plain, in_context, alone)]
    assert modes == ["x_vector", "in_context", "x_vector"]
    assert in_context["own_voice"]["ref_text"] == "What it says."
    kept = [entry.key for entry in cloning.objects.list(JOBS) if entry.key.endswith("reference.audio")]
    assert len(kept) == 3
    assert cloning.objects.get(kept[0]) == audio


def test_a_recording_is_an_upload_too_and_jobs_take_it(cloning: ServedApi) -> None:
    audio = recording()
    made = cloning.http.post("/v1/uploads", json={"bytes": len(audio)}).json()
    cloning.http.put(made["url"], content=audio).raise_for_status()

    job = cloning.submit(ref_audio=made["id"], ref_text="What it says.", consent=CONSENT)

    assert (job["request"]["model"], job["request"]["own_voice"]["mode"]) == ("base", "in_context")


BESIDE_RECORDINGS = [
    ({"x_vector_only_mode": True, "ref_text": "Hello."}, "ref_text"),
    ({"instructions": "Softly."}, "instructions"),
    ({"voice": "Alice"}, "voice"),
    ({"speaker": "somebody"}, "speaker"),
]


@pytest.mark.parametrize("brought", ["ref_audio", "speaker_embedding"])
@pytest.mark.parametrize(("fields", "ignored"), BESIDE_RECORDINGS)
def test_what_a_brought_voice_does_not_go_with_is_ignored(
    cloning: ServedApi, fields: dict[str, str], ignored: str, brought: str
) -> None:
    given = {"ref_audio": data_url(recording()), "speaker_embedding": EMBEDDING.tolist()}
    order = TEXT | fields | {brought: given[brought], "consent": CONSENT}

    answer = cloning.http.post("/v1/audio/speech", json=order, headers={"Prefer": "respond-async"})

    assert (answer.status_code, answer.headers["x-ignored"]) == (202, ignored)
    assert answer.json()["metadata"] == {"ignored": ignored}
    assert answer.json()["request"]["voice"] == brought


@pytest.fixture
def strict(api_settings: ApiSettings) -> Iterator[ServedApi]:
    with serve(api_settings.model_copy(update={"strict_speech": True})) as api:
        api.models.publish(BASE)
        yield api


def test_one_setting_refuses_what_a_brought_voice_does_not_go_with(strict: ServedApi) -> None:
    for fields, param in BESIDE_RECORDINGS[:3]:
        assert refused(strict, ref_audio=data_url(recording()), consent=CONSENT, **fields)[0] == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "consent"),
        ({"consent": "no"}, "consent"),
        ({"consent": CONSENT, "model": "small"}, "ref_audio"),
    ],
)
def test_what_a_recording_does_not_go_with_is_said(cloning: ServedApi, fields: dict[str, str], param: str) -> None:
    assert refused(cloning, ref_audio=data_url(recording()), **fields)[0] == param


@pytest.mark.parametrize(
    "ref_audio",
    [
        "no recording",
        "data:audio/wav,plain",
        "data:audio/wav;base64,%%%",
        data_url(b"RIFFnothing"),
        "upl_01m802c1cheyxkxe2eb5xqdzmy",
        "file:///etc/passwd",
        "ftp://example.com/a.wav",
        "http://example.com/a.wav",
        "https://example.com:22/a.wav",
        "https://user:secret@example.com/a.wav",
        "https://localhost/a.wav",
        "https://127.0.0.1/a.wav",
        "https://2130706433/a.wav",
        "https://[::1]/a.wav",
        "https://[::ffff:10.0.0.1]/a.wav",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/a.wav",
        "https://[64:ff9b::a00:1]/a.wav",
        "https://nowhere.invalid/a.wav",
    ],
)
def test_what_is_no_recording_or_no_address_for_all_is_refused(cloning: ServedApi, ref_audio: str) -> None:
    assert refused(cloning, ref_audio=ref_audio, consent=CONSENT)[0] == "ref_audio"
    assert cloning.http.get("/v1/jobs").json()["data"] == []


@pytest.fixture
def shelf() -> Iterator[str]:
    """A server of recordings: what it has, what lies elsewhere, what is too large, what is none."""
    answers = {
        "/voice.wav": (200, recording()),
        "/moved.wav": (302, b""),
        "/large.wav": (200, bytes(MAX_SAMPLE_BYTES + 1)),
        "/page.html": (200, b"<html>"),
    }

    class Shelf(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = answers.get(self.path, (404, b""))
            self.send_response(status)
            self.send_header("Location", "/voice.wav")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Shelf) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        join_in_time(thread)


@pytest.fixture
def near(api_settings: ApiSettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedApi]:
    """An API to which this machine is the internet: the client is the real one."""
    monkeypatch.setattr(container, "safe_client", lambda allow_private="": safe_client(allow_private or "loopback"))
    with serve(api_settings) as api:
        api.models.publish(BASE)
        yield api


def test_no_setting_of_another_door_opens_this_machine_to_recordings(api_settings: ApiSettings, shelf: str) -> None:
    """The same words for a port that is open and one that is not: nobody learns what listens here."""
    doors: dict[str, object] = dict.fromkeys(("webhook_allow_private", "oidc_allow_private"), "loopback")
    with serve(api_settings.model_copy(update=doors)) as api:
        api.models.publish(BASE)
        said = {
            refused(api, ref_audio=f"{address}/voice.wav", consent=CONSENT)
            for address in (shelf, "http://127.0.0.1:1", shelf.replace("http:", "https:"))
        }
        alone = refused(api, ref_audio="https://127.0.0.1/voice.wav", consent=CONSENT)

    assert {param for param, _ in said} == {"ref_audio"}
    assert not any(word in words for _, words in said for word in ("connection", "answer"))
    assert "is not a public address" in alone[1]


def test_whatever_the_other_side_does_is_one_sentence(near: ServedApi, shelf: str) -> None:
    with listener(answers(b"", "500 Broken")) as broken, listener(lambda stream, _: None) as silent:
        addresses = [
            f"{shelf}/moved.wav",
            f"{shelf}/none.wav",
            f"http://127.0.0.1:{broken.port}/",
            f"http://127.0.0.1:{silent.port}/",
            f"https://127.0.0.1:{broken.port}/",
            "http://127.0.0.1:1/",
        ]
        said = {refused(near, ref_audio=address, consent=CONSENT) for address in addresses}

    (sentence,) = said
    assert sentence[0] == "ref_audio"
    assert "the address gave no recording" in sentence[1]


def test_a_recording_is_fetched_by_its_address(near: ServedApi, shelf: str) -> None:
    request = ordered(near, ref_audio=f"{shelf}/voice.wav", consent=CONSENT)
    large = refused(near, ref_audio=f"{shelf}/large.wav", consent=CONSENT)[1]
    page = near.http.post("/v1/audio/speech", json=TEXT | {"ref_audio": f"{shelf}/page.html", "consent": CONSENT})

    assert (request["model"], request["own_voice"]["mode"]) == ("base", "x_vector")
    assert "larger" in large
    assert (page.status_code, page.json()["error"]["code"]) == (422, "unsupported_media")


def test_what_is_said_of_the_drawing_reaches_the_job(api: ServedApi) -> None:
    sampling = {
        "temperature": 0.7,
        "top_k": 20,
        "top_p": 0.9,
        "repetition_penalty": 1.1,
        "subtalker_temperature": 0.6,
        "subtalker_top_k": 9,
        "subtalker_top_p": 0.8,
        "do_sample": True,
        "max_new_tokens": 200,
    }

    request = ordered(api, seed=7, **sampling)

    assert (request["sampling"], request["seed"]) == (sampling, 7)
