"""Usage over HTTP: each tenant its own, by day and by the key that submitted, as JSON and CSV."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest

from rhapsode import Rhapsode
from tests.api.harness import ServedApi, finish_job

OPERATOR = {"Authorization": "Bearer key-of-the-operator"}
ANN = {"Authorization": "Bearer key-of-ann"}
TWO_SEGMENTS = {"segments": 2, "characters": 20, "audio_s": 2.0, "cached_audio_s": 0.0, "engine_s": 0.1}


pytestmark = pytest.mark.usefixtures("within_one_day")


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def narrate(api: ServedApi, headers: dict[str, str]) -> None:
    assert api.http.post("/v1/jobs", json={"input": {"text": "Mine."}}, headers=headers).status_code == 202
    finish_job(api)


def test_every_tenant_sees_its_own_by_the_key_it_submitted_with(guarded: ServedApi) -> None:
    made = guarded.http.post("/v1/admin/api-keys", json={"tenant": "ben", "name": "test"}, headers=OPERATOR).json()
    ben = {"Authorization": f"Bearer {made['secret']}"}
    narrate(guarded, ben)
    narrate(guarded, ANN)

    of_ben = guarded.http.get("/v1/usage", headers=ben).json()
    of_ann = guarded.http.get("/v1/usage", headers=ANN).json()

    assert of_ben["data"] == [{"day": today(), "key_id": made["id"], **TWO_SEGMENTS}]
    assert of_ann["data"] == [{"day": today(), "key_id": None, **TWO_SEGMENTS}]
    assert of_ben["total"] == TWO_SEGMENTS
    seen = guarded.http.get("/v1/admin/tenants/ben/usage", headers=OPERATOR).json()
    assert seen == of_ben
    assert guarded.http.get("/v1/admin/tenants/ben/usage", headers=ANN).status_code == 403
    assert guarded.http.get("/v1/admin/tenants/No%20Tenant/usage", headers=OPERATOR).status_code == 404


def test_rows_are_grouped_as_asked_and_told_as_csv_too(guarded: ServedApi) -> None:
    narrate(guarded, ANN)
    narrate(guarded, ANN)

    by_key = guarded.http.get("/v1/usage?group_by=key", headers=ANN).json()["data"]
    table = guarded.http.get("/v1/usage?format=csv", headers=ANN)

    assert [(row["day"], row["key_id"], row["segments"]) for row in by_key] == [(None, None, 4)]
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [(row["day"], row["key_id"], row["characters"], row["audio_s"]) for row in rows] == [
        (today(), "", "40", "4.0")
    ]


def test_days_outside_have_no_rows_and_impossible_days_are_refused(guarded: ServedApi) -> None:
    narrate(guarded, ANN)
    yesterday = (datetime.now(UTC).date() - timedelta(days=1)).isoformat()

    before = guarded.http.get(f"/v1/usage?from={yesterday}&to={yesterday}", headers=ANN).json()
    wrong = ("from=2026-02-02&to=2026-02-01", "from=2020-01-01", "to=0001-01-02", "from=soon", "until=2026-01-01")
    refused = [guarded.http.get(f"/v1/usage?{query}", headers=ANN) for query in wrong]

    assert (before["data"], before["total"]["segments"], before["from"]) == ([], 0, yesterday)
    assert [answer.status_code for answer in refused] == [422] * 5
    assert [answer.json()["errors"][0]["parameter"] for answer in refused] == ["from", "from", "to", "from", "until"]


def test_the_client_reads_usage(guarded: ServedApi) -> None:
    narrate(guarded, ANN)

    with Rhapsode(guarded.url, api_key="key-of-ann") as client:
        report = client.usage(group_by=("day",))

    assert [(str(row.day), row.key_id, row.audio_s) for row in report.data] == [(today(), None, 2.0)]
    assert (report.total.segments, str(report.last)) == (2, today())
