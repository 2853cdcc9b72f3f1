"""Text in letters that no language of the model has is refused before there is a job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reading.plan.plan import Plan, PlanSegment, encode_plan
from storage.jobs.work_items import PlanResult
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects.keys import plan as plan_key
from tests.api.harness import SMALL, ServedApi, claim

CHINESE = "今天天气很好，我们去公园。"


@pytest.mark.parametrize(
    ("body", "pointer", "start"),
    [
        ({"input": {"text": f"Good morning. {CHINESE}"}}, "/input/text", 14),
        ({"input": {"segments": [{"text": "Hello."}, {"text": CHINESE}]}}, "/input/segments/1/text", 0),
    ],
)
def test_it_is_refused_with_its_place_and_the_languages_there_are(
    api: ServedApi, body: dict[str, object], pointer: str, start: int
) -> None:
    refused = api.http.post("/v1/jobs", json=body)

    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["retryable"]) == (422, "unsupported_language", False)
    assert problem["errors"][0]["pointer"] == pointer
    assert problem["detail"] == (
        f"from character {start} on the text is in Chinese characters, which no language of small is written with; "
        "it speaks: English, German"
    )
    assert api.http.get("/v1/jobs").json()["data"] == []


def test_speech_in_openais_shape_is_refused_in_that_shape(api: ServedApi) -> None:
    refused = api.http.post(
        "/v1/audio/speech", json={"model": "small", "input": "Как у вас дела сегодня?", "voice": "alice"}
    )

    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["param"]) == (422, "unsupported_language", "input")


def test_a_model_that_has_the_letters_takes_the_text(api: ServedApi) -> None:
    api.models.publish(replace(SMALL, languages=("chinese", "english")))

    assert api.http.post("/v1/jobs", json={"input": {"text": f"Good morning. {CHINESE}"}}).status_code == 202


def test_what_dictionaries_may_respell_is_not_refused_yet(api: ServedApi) -> None:
    rules = [{"grapheme": CHINESE, "alias": "nice weather"}]
    dictionary = api.http.post("/v1/pronunciation-dictionaries", json={"name": "Weather", "rules": rules}).json()
    named = f"{dictionary['id']}@1"

    taken = api.http.post("/v1/jobs", json={"input": {"text": CHINESE}, "pronunciation_dictionaries": [named]})

    assert taken.status_code == 202, taken.text


def test_the_new_text_of_a_segment_is_refused_too(api: ServedApi) -> None:
    job = api.submit()["id"]
    plan = claim(api, CPU_QUEUE)
    segments = (PlanSegment(0, 0, 24, "Good morning, everybody.", 0.0),)
    api.objects.put(plan_key(plan.lease), encode_plan(Plan(segments)))
    api.jobs.commit_plan(plan.lease, PlanResult(plan_key(plan.lease), 1, 3_000))

    refused = api.http.patch(f"/v1/jobs/{job}/segments/0", json={"text": CHINESE})

    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (422, "unsupported_language")
    assert problem["errors"][0]["pointer"] == "/text"
