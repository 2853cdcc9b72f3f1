"""Voices between others, and the sentence that lets one be heard."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from api.http.problems.problem import HttpProblem
from api.voices.blend import lerp, slerp
from tests.api.harness import ServedApi
from tests.api.voices.voices import BASE, DIMENSION, EMBEDDING, build_all, upload, upload_embedding

OTHER = np.cos(np.arange(DIMENSION)).astype("<f4")

pytestmark = pytest.mark.usefixtures("cloning")


def values_of(api: ServedApi, voice: dict[str, Any]) -> np.ndarray:
    answer = api.http.get(voice["links"]["embedding"], headers={"Accept": "application/json"})
    return np.array(answer.json()["values"])


def blend(api: ServedApi, *voices: tuple[str, float], **order: object) -> dict[str, Any]:
    parts = [{"voice": voice, "weight": weight} for voice, weight in voices]
    answer = api.http.post("/v1/voices/blend", json={"name": "Between", "voices": parts, **order})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_blend_lies_between_its_voices(api: ServedApi) -> None:
    upload_embedding(api, "Ada")
    eve = upload_embedding(api, "Eve", OTHER)

    between = blend(api, ("Ada", 1), (eve["id"], 3), method="lerp", description="both")

    assert (between["kind"], between["sample"]["kind"], between["models"]) == ("own", "embedding", ["base"])
    assert np.allclose(values_of(api, between), (EMBEDDING + 3 * OTHER) / 4, atol=1e-6)
    assert between["consent"]["statement"].startswith("Ada: ")
    assert between["metadata"]["blend.1"] == f"3 {eve['id']}"


def test_a_models_own_voices_are_parts_of_blends(api: ServedApi) -> None:
    choir = dataclasses.replace(BASE, name="choir", speakers=("Carol", "Dan"))
    api.models.publish(choir, [EMBEDDING.tolist(), OTHER.tolist()])
    eve = upload_embedding(api, "Eve", values=OTHER, model="choir")

    built_in = blend(api, ("carol", 1), ("Dan", 1), method="lerp", model="choir")
    mixed = blend(api, ("Carol", 3), (eve["id"], 1), method="lerp", model="choir", name="Mixed")

    assert (built_in["kind"], built_in["models"]) == ("own", ["choir"])
    assert np.allclose(values_of(api, built_in), (EMBEDDING + OTHER) / 2, atol=1e-6)
    assert np.allclose(values_of(api, mixed), (3 * EMBEDDING + OTHER) / 4, atol=1e-6)
    assert (built_in["metadata"]["blend.0"], mixed["metadata"]["blend.1"]) == ("1 Carol", f"1 {eve['id']}")
    assert mixed["consent"]["statement"].startswith("Carol: comes with the model; Eve: ")
    assert api.submit(voice="Mixed", model="choir")["request"]["own_voice"]["mode"] == "x_vector"


def test_a_built_in_voice_whose_embedding_nobody_can_know_is_refused_with_the_reason(api: ServedApi) -> None:
    def refusal(model: str) -> tuple[int, str]:
        body = {"name": "Between", "voices": [{"voice": "Alice"}, {"voice": "Bob"}], "model": model}
        answer = api.http.post("/v1/voices/blend", json=body)
        return answer.status_code, answer.json()["detail"]

    api.models.publish(dataclasses.replace(BASE, name="old", speakers=("Alice", "Bob")))

    assert refusal("small") == (
        422,
        "/model: small does not clone voices: its checkpoint has no speaker encoder, and speaks with no embedding",
    )
    assert refusal("base")[0] == 422
    assert "Alice is a voice of" in refusal("base")[1]
    assert refusal("old")[0] in (409, 503)
    assert "no worker of old has published the embedding of Alice" in refusal("old")[1]


def test_a_blend_that_a_model_has_by_name_is_refused_with_that_name(api: ServedApi) -> None:
    api.models.publish(
        dataclasses.replace(BASE, name="named", voice_modes=(), speakers=("a", "b"), blends_speakers=True)
    )
    body = {"name": "Between", "voices": [{"voice": "a", "weight": 2}, {"voice": "b", "weight": 1}]}

    answer = api.http.post("/v1/voices/blend", json=body)

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/voices")
    assert answer.json()["detail"].endswith(
        "named blends its voices by name, in jobs and live speech: use the voice a(2)+b(1)"
    )


def test_an_arc_keeps_the_length_that_a_chord_would_lose(api: ServedApi) -> None:
    upload_embedding(api, "Ada")
    upload_embedding(api, "Eve", OTHER)

    values = values_of(api, blend(api, ("Ada", 1), ("Eve", 1)))

    lengths = [float(np.linalg.norm(EMBEDDING)), float(np.linalg.norm(OTHER))]
    assert np.linalg.norm(values) == pytest.approx(sum(lengths) / 2, rel=1e-5)
    cosines = [float(values @ each / np.linalg.norm(values) / np.linalg.norm(each)) for each in (EMBEDDING, OTHER)]
    assert cosines[0] == pytest.approx(cosines[1], abs=1e-5)


def test_slerp_of_equal_voices_is_the_voice_and_of_opposite_ones_is_refused() -> None:
    vector = tuple(EMBEDDING.tolist())

    assert slerp([vector, vector, vector], [1, 2, 3]) == pytest.approx(vector)
    assert lerp([vector, vector], [0.5, 0.25]) == pytest.approx(vector)
    with pytest.raises(HttpProblem, match="opposite"):
        slerp([vector, tuple(-value for value in vector)], [1, 1])


def test_a_recording_is_blended_once_its_cache_is_ready(api: ServedApi) -> None:
    ada = upload(api, "Ada")
    upload_embedding(api, "Eve")
    order = {"name": "Between", "voices": [{"voice": "Ada"}, {"voice": "Eve"}]}

    answer = api.http.post("/v1/voices/blend", json=order)
    assert (answer.status_code, answer.json()["code"]) == (409, "voice_cache_not_ready")
    assert answer.json()["errors"][0]["pointer"] == "/voices/0/voice"
    api.http.post(f"{ada['links']['self']}/cache")
    build_all(api)

    assert api.http.post("/v1/voices/blend", json=order).status_code == 201


def test_a_blend_that_cannot_be_is_refused(api: ServedApi) -> None:
    upload_embedding(api, "Ada")
    objects = len(list(api.objects.list("voices/")))

    def refusal(**changes: object) -> tuple[int, str]:
        parts = [{"voice": "Ada"}, {"voice": "Ada"}]
        answer = api.http.post("/v1/voices/blend", json={"name": "Between", "voices": parts, **changes})
        return answer.status_code, answer.json()["code"]

    assert refusal(voices=[{"voice": "Ada"}])[0] == 422
    assert refusal(voices=[{"voice": "Ada"}, {"voice": "nobody"}]) == (404, "voice_not_found")
    assert refusal(voices=[{"voice": "Ada", "weight": 0}, {"voice": "Ada"}])[0] == 422
    assert refusal(method="sum")[0] == 422
    assert refusal(name="ada") == (409, "name_taken")
    assert refusal(name="Alice") == (409, "name_taken")
    assert refusal(model="small")[0] == 422
    assert len(list(api.objects.list("voices/"))) == objects


def test_a_preview_is_a_job_of_one_sentence_before_other_work(api: ServedApi) -> None:
    voice = upload_embedding(api, "Eve")

    answer = api.http.post(f"{voice['links']['self']}/preview")

    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert (job["request"]["voice"], job["request"]["model"], job["request"]["priority"]) == ("Eve", "base", "high")
    assert job["metadata"] == {"preview_of": voice["id"]}
    order = {"text": "Hello, you.", "language": "German", "seed": 3}
    job = api.http.post(f"{voice['links']['self']}/preview", json=order).json()
    assert (job["usage"]["input_chars"], job["request"]["language"], job["request"]["seed"]) == (11, "German", 3)
    assert api.http.post(f"{voice['links']['self']}/preview", json={"text": "..."}).status_code == 422
