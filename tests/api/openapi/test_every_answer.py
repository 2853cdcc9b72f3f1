"""What holds for every answer: problems, request ids, probes, the description."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.settings import ApiSettings
from storage.database.keys import RedisKeys
from storage.runtime.config.settings import describe
from tests.api.harness import ServedApi, serve
from tests.settings import api_settings_of

ROOT = Path(__file__).resolve().parents[3]


def test_a_path_that_is_none_is_a_problem(api: ServedApi) -> None:
    answer = api.http.get("/v2/jobs")

    assert (answer.status_code, answer.json()["code"], answer.json()["instance"]) == (404, "not_found", "/v2/jobs")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "/errors/not_found"


def test_a_method_that_is_none_names_those_that_are(api: ServedApi) -> None:
    job = api.submit()["links"]["self"]

    answer, of_the_list, of_a_job = api.http.put("/v1/models"), api.http.put("/v1/jobs"), api.http.post(job)

    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    allowed = [each.headers["allow"] for each in (answer, of_the_list, of_a_job)]
    assert allowed == ["GET, HEAD", "GET, HEAD, POST", "GET, HEAD, PUT, PATCH, DELETE"]


def test_a_method_that_is_none_is_not_told_of_what_stands_where_an_id_could(api: ServedApi) -> None:
    answer = api.http.options("/v1/voices/blend")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_fault_of_ours_tells_nothing_but_its_request(api: ServedApi) -> None:
    job = api.submit()
    api.redis.hset(f"{{rhapsode}}:job:{job['id']}", "spec", "broken secret")

    answer = api.http.get(job["links"]["self"])

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


def test_a_request_id_is_taken_over_if_it_is_a_plain_one(api: ServedApi) -> None:
    def answered(given: str) -> str:
        return api.http.get("/livez", headers={"X-Request-ID": given}).headers["x-request-id"]

    assert answered("mine-1.2_3") == "mine-1.2_3"
    assert answered("a b").startswith("req_")
    assert answered("a" * 65).startswith("req_")
    assert api.http.get("/livez").headers["x-request-id"].startswith("req_")


def test_the_models_are_listed_as_their_workers_announced_them(api: ServedApi) -> None:
    [model] = api.http.get("/v1/models").json()["data"]

    assert (model["name"], model["speakers"], model["languages"]) == ("small", ["Alice", "Bob"], ["English", "German"])
    assert (model["notice"], model["sample_rate_hz"]) == ("a prototype", 24_000)
    assert (model["accepts_instructions"], model["available"]) == (True, True)
    assert model["seen_at"].endswith("Z")


def test_ready_names_the_models(api: ServedApi) -> None:
    answer = api.http.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ready",
        "redis": "ok",
        "store": "ok",
        "threads": "ok",
        "models": ["small"],
        "claims": "open",
        "tasks_down": [],
        "reasons": [],
    }


def test_a_system_that_gives_nothing_to_its_workers_takes_jobs_and_says_so(api: ServedApi) -> None:
    api.redis.set(RedisKeys("rhapsode").single("held"), "Redis is empty")

    answer = api.http.get("/readyz")

    assert (answer.status_code, answer.json()["claims"]) == (200, "held")


def test_a_system_without_a_model_is_ready_and_says_so(api_settings: ApiSettings) -> None:
    with serve(api_settings) as api:
        answer = api.http.get("/readyz")

    assert (answer.status_code, answer.json()["models"]) == (200, [])


def test_a_system_without_redis_is_alive_and_not_ready(api_settings: ApiSettings) -> None:
    url = "redis://user:s3cret@127.0.0.1:1"
    nowhere = api_settings_of(api_settings, redis_url=f"{url}/0", broker_url=f"{url}/1")
    before = datetime.now(UTC).replace(microsecond=0)
    with serve(nowhere) as api:
        first = api.http.get("/readyz").json()
        answer = api.http.get("/readyz")
        alive = api.http.get("/livez")

    assert (answer.status_code, answer.json()["redis"], answer.json()["store"]) == (503, "unavailable", "ok")
    assert first["reasons"] == answer.json()["reasons"]
    (reason,) = answer.json()["reasons"]
    found = re.fullmatch(r"Redis does not answer \(since (.*)\)", reason)
    assert found
    assert before <= datetime.fromisoformat(found[1]) <= datetime.now(UTC)
    assert not re.search(r"s3cret|127\.0\.0\.1|://", answer.text)
    assert (alive.status_code, alive.json()) == (200, {"status": "alive"})


def test_a_system_on_state_of_another_version_is_not_ready(api: ServedApi, api_settings: ApiSettings) -> None:
    api.redis.set(RedisKeys(api_settings.key_prefix).single("layout"), "7")

    answer = api.http.get("/readyz")

    assert (answer.status_code, answer.json()["redis"]) == (503, "unavailable")
    assert answer.json()["reasons"][0].startswith("this release cannot use this Redis or its state (since ")


@pytest.mark.usefixtures("full_store")
def test_a_system_that_cannot_store_is_not_ready(api_settings: ApiSettings) -> None:
    with serve(api_settings) as api:
        answer = api.http.get("/readyz")

    assert (answer.status_code, answer.json()["store"]) == (503, "unavailable")
    assert answer.json()["reasons"][0].startswith("the object store has too little free space (since ")


def test_the_description_names_the_request_the_job_and_the_problems(api: ServedApi) -> None:
    description = api.http.get("/openapi.json").json()

    submit = description["paths"]["/v1/jobs"]["post"]
    assert submit["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/JobRequest"}
    assert submit["responses"]["202"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Job"}
    refusal = submit["responses"]["422"]["$ref"].rpartition("/")[2]
    assert "application/problem+json" in description["components"]["responses"][refusal]["content"]
    references = {part.split('"')[0] for part in api.http.get("/openapi.json").text.split("#/components/schemas/")[1:]}
    assert references <= set(description["components"]["schemas"])
    links = set(description["components"]["schemas"]["Links"]["required"])
    assert {"self", "events", "segments", "cancel", "artifacts"} <= links


def test_the_settings_are_shown_without_their_secrets(api_settings: ApiSettings) -> None:
    settings = api_settings_of(api_settings, api_keys={"a" * 64: "ann"})

    shown = "\n".join(describe(settings))

    assert "RHAPSODE_MAX_TEXT_CHARS" in shown
    assert "aaaa" not in shown
    assert settings.url_secret.get_secret_value() not in shown


@pytest.mark.parametrize("address", ["tts.example", "ftp://tts.example", "https://", "https://tts.example?x=1"])
def test_a_public_address_must_be_one(api_settings: ApiSettings, address: str) -> None:
    with pytest.raises(ValueError, match="must be http"):
        api_settings_of(api_settings, public_url=address)


def test_the_api_starts_from_its_environment_where_torch_and_numpy_do_not_exist(api_settings: ApiSettings) -> None:
    program = (
        "import sys\n"
        "for name in ('torch', 'numpy', 'safetensors', 'tokenizers', 'soundfile'): sys.modules[name] = None\n"
        "from api.app import app_from_environment\n"
        "print(app_from_environment().title)\n"
    )
    environment = {
        "RHAPSODE_STORE": api_settings.store,
        "RHAPSODE_URL_SECRET": api_settings.url_secret.get_secret_value(),
        "RHAPSODE_API_KEYS": "{}",
        "PYTHONPATH": str(ROOT),
    }

    outcome = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.splitlines()[-1] == "Rhapsode"
    assert api_settings.url_secret.get_secret_value() not in outcome.stdout + outcome.stderr


def test_the_description_refers_to_nothing_that_it_lacks(api: ServedApi) -> None:
    document = api.http.get("/openapi.json").json()

    wanted = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert wanted - document["components"]["schemas"].keys() == set()
    assert len(document["paths"]) > 40


def test_every_post_says_that_it_takes_an_idempotency_key(api: ServedApi) -> None:
    paths = api.http.get("/openapi.json").json()["paths"]
    posts = [operations["post"] for operations in paths.values() if "post" in operations]

    for post in posts:
        assert [each["name"] for each in post["parameters"]].count("Idempotency-Key") == 1
