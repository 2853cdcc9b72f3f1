"""What an address says about where a request belongs."""

from __future__ import annotations

import pytest

from api.router.addresses import can_be_spread, cell_named, plain_resource

ULID = "01jxkz4w7n2v8q3m5r6t9a0bcd"


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/jobs/job_{ULID}_eu1",
        f"/v1/jobs/job_{ULID}_eu1/segments/s0001/audio",
        f"/v1/voices/voc_{ULID}_eu1/cache",
        f"/v1/pronunciation-dictionaries/pd_{ULID}_eu1/versions",
        f"/v1/admin/api-keys/key_{ULID}_eu1",
        f"/v1/objects/jobs/tenant/job_{ULID}_eu1/output/narration.wav",
        f"/v1/objects/uploads/tenant/upl_{ULID}_eu1",
    ],
)
def test_an_id_with_its_cell_decides_wherever_it_stands(path: str) -> None:
    assert cell_named(path, b"") == "eu1"
    assert plain_resource(path) is None


@pytest.mark.parametrize("path", ["/v1/jobs", "/", f"/v1/jobs/job_{ULID}", "/v1/audio/voices/a_b", "/v1/models/x_y"])
def test_what_has_no_id_with_a_cell_names_none(path: str) -> None:
    assert cell_named(path, b"") is None


def test_a_list_of_a_batchs_jobs_is_of_the_batchs_cell() -> None:
    assert cell_named("/v1/jobs", f"limit=3&batch_id=bat_{ULID}_eu1".encode()) == "eu1"
    assert cell_named("/v1/jobs", f"cursor=job_{ULID}_eu1".encode()) is None


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        (f"/v1/jobs/job_{ULID}/events", f"/v1/jobs/job_{ULID}"),
        (f"/v1/webhook-deliveries/evt_{'0a' * 20}/redeliver", f"/v1/webhook-deliveries/evt_{'0a' * 20}"),
        ("/v1/voices/Alice", None),
        ("/v1/jobs", None),
    ],
)
def test_an_id_without_a_cell_is_looked_for_by_its_resource(path: str, resource: str | None) -> None:
    assert plain_resource(path) == resource


def test_reading_and_plain_work_can_be_spread_and_storing_cannot() -> None:
    assert can_be_spread("GET", "/v1/models")
    assert can_be_spread("POST", "/v1/jobs")
    assert not can_be_spread("POST", "/v1/voices")
    assert can_be_spread("GET", "/v1/jobs")


@pytest.mark.parametrize("path", ["/v1/webhook-secret", "/v1/audio/voices", "/v1/audio/voices/alice"])
def test_what_a_cell_signs_and_speaks_with_is_of_one_cell(path: str) -> None:
    assert not can_be_spread("GET", path)
