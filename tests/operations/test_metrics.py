"""Metrics over HTTP, and the catalogue that they, the rules and the dashboards are held to."""

from __future__ import annotations

import re
import socket
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.settings import MetricsAccess
from generators.metric_table import metric_table
from storage.job_store.counter_audit import CounterMismatch
from storage.recovery.audit_log import AuditLog
from storage.runtime.config.settings import SettingsError, StorageSettings
from storage.runtime.observability.metric_catalogue import CATALOGUE, Kind
from storage.runtime.observability.metrics import Snapshot, SnapshotCollector
from tests.api.harness import GPU_QUEUE, SMALL, serve, start_job
from tests.settings import api_settings_of
from worker.engine.fake import FakeEngine
from worker.engine.interface import EngineStats
from worker.engine.settings import FakeEngineSettings
from worker.process.engine_meter import EngineMeter
from worker.process.metrics_server import parse_ports, serve_metrics

ROOT = Path(__file__).resolve().parents[2]
KEY = "rh_operator"
KEY_SHA256 = "a7b53cfb4fd7d1a2ac04d6de3a28bd86ea9c0e13d0b1b4e8a2a1b6cf3f3a8f10"


def scrape(url: str, **headers: str) -> dict[str, float]:
    """Samples as they are written: name{labels} -> value."""
    answer = httpx.get(f"{url}/metrics", headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    samples: dict[str, float] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            labels = ",".join(f"{name}={text}" for name, text in sorted(sample.labels.items()))
            samples[f"{sample.name}{{{labels}}}"] = sample.value
    return samples


def test_an_api_shows_what_waits_and_what_was_asked_of_it(storage_settings: StorageSettings) -> None:
    with serve(api_settings_of(storage_settings)) as api:
        api.models.publish(SMALL)
        api.submit()
        start_job(api)
        AuditLog(api.redis).note((CounterMismatch("leases:", 0, 3),))

        seen = scrape(api.url)

    gpu = f"lane=gpu,queue={GPU_QUEUE}"
    assert seen["rhapsode_fleet_up{}"] == 1
    assert seen[f"rhapsode_queue_ready_items{{{gpu}}}"] == 1
    assert sum(seen[f"rhapsode_backlog_audio_seconds{{class={rank},{gpu}}}"] for rank in ("bulk", "interactive")) > 0
    assert seen["rhapsode_leases{}"] == 1
    assert seen["rhapsode_counter_drift{}"] == 1
    assert seen["rhapsode_http_requests_total{method=POST,route=/v1/jobs,status=202}"] >= 1
    assert seen["rhapsode_redis_call_duration_seconds_count{script=submit}"] >= 1
    assert seen["rhapsode_artifact_call_duration_seconds_count{operation=put,store=folder}"] >= 1
    assert {re.split(r"_(?:count|sum|bucket)\{|\{", name)[0] for name in seen} <= _exported_names()


def test_a_refusal_is_counted_by_its_code(storage_settings: StorageSettings) -> None:
    with serve(api_settings_of(storage_settings, redis_url="unix:///nonexistent/valkey.sock")) as api:
        assert api.http.get("/v1/jobs").status_code == 503

        seen = scrape(api.url)

    assert seen["rhapsode_fleet_up{}"] == 0
    assert seen["rhapsode_http_refusals_total{code=storage_unavailable}"] >= 1


@pytest.mark.parametrize(
    ("access", "status"), [(MetricsAccess.ADMIN, 401), (MetricsAccess.LOOPBACK, 200), (MetricsAccess.OPEN, 200)]
)
def test_whether_a_scrape_needs_a_key_is_a_setting(
    storage_settings: StorageSettings, access: MetricsAccess, status: int
) -> None:
    keys = {KEY_SHA256: "operator"}
    with serve(api_settings_of(storage_settings, api_keys=keys, metrics_access=access)) as api:
        assert httpx.get(f"{api.url}/metrics").status_code == status


def test_a_name_from_elsewhere_is_not_this_machine(storage_settings: StorageSettings) -> None:
    settings = api_settings_of(
        storage_settings, api_keys={KEY_SHA256: "operator"}, metrics_access=MetricsAccess.LOOPBACK
    )
    with serve(settings) as api:
        answer = httpx.get(f"{api.url}/metrics", headers={"Host": "metrics.example.com"})

    assert answer.status_code == 401


def test_the_documented_table_is_that_of_the_code() -> None:
    written = (ROOT / "docker" / "prometheus" / "METRICS.md").read_text()

    assert written == metric_table(), "run: python -m generators.metric_table > docker/prometheus/METRICS.md"


def test_rules_and_dashboards_name_only_metrics_that_exist() -> None:
    files = [ROOT / "docker/prometheus/rules.yaml", *sorted((ROOT / "docker/grafana").rglob("*.json"))]
    assert len(files) > 1

    for file in files:
        named = set(re.findall(r"\brhapsode_[a-z0-9_]+", file.read_text()))
        recorded = set(re.findall(r"record: *([a-z0-9_:]+)", file.read_text()))
        assert named, file
        assert named - recorded <= _exported_names() | _histogram_parts(), file


def test_no_metric_can_name_a_tenant_a_job_or_a_text() -> None:
    forbidden = {"tenant", "job", "segment", "text", "voice", "key", "url"}

    assert all(not forbidden & set(spec.labels) for spec in CATALOGUE.values())


def test_a_snapshot_refuses_labels_and_names_that_the_catalogue_does_not_have() -> None:
    with pytest.raises(ValueError, match="labels"):
        Snapshot().add("rhapsode_workers", 1, role="gpu")
    with pytest.raises(KeyError):
        Snapshot().add("rhapsode_wishes", 1)


def test_a_worker_takes_the_first_free_port_of_its_range() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        first = taken.getsockname()[1]
        port = serve_metrics(f"{first}-{first + 2}")
        assert port is not None
        assert port > first
        assert "rhapsode_redis_call_duration_seconds" in httpx.get(f"http://127.0.0.1:{port}/metrics").text
        with pytest.raises(SettingsError, match="taken"):
            serve_metrics(str(first))


def test_ports_are_a_number_or_a_range_and_may_have_an_address() -> None:
    assert parse_ports("") == ("127.0.0.1", range(0))
    assert parse_ports("9101") == ("127.0.0.1", range(9101, 9102))
    assert parse_ports("9101-9103") == ("127.0.0.1", range(9101, 9104))
    assert parse_ports("0.0.0.0:9101-9103") == ("0.0.0.0", range(9101, 9104))
    assert parse_ports("[::]:9101") == ("::", range(9101, 9102))
    for nonsense in ("x", "9103-9101", "0", "70000", "9101,9102", ":9101", "host:", "a b:9101", "0.0.0.0"):
        with pytest.raises(ValueError, match="must be"):
            parse_ports(nonsense)


def test_an_engine_that_was_started_again_counts_on() -> None:
    engine = FakeEngine(FakeEngineSettings(slots=4))
    states = iter(
        [
            EngineStats(steps=10, frames=30, active=3, waiting=0, finished=2),
            EngineStats(steps=4, frames=4, active=1, waiting=0, finished=0),
            EngineStats(steps=4, frames=4, active=0, waiting=0, finished=1),
        ]
    )
    meter = EngineMeter(lambda: next(states), engine.info, lambda: 1)

    meter.look()
    assert meter.pace.batch_fill == pytest.approx(0.75)
    meter.look()
    assert (meter.total.steps, meter.total.frames) == (14, 34)
    meter.look()

    assert (meter.total.steps, meter.total.finished) == (14, 3)
    assert meter.pace.batch_fill is None
    engine.close()


def test_an_engine_without_steps_tells_how_many_slots_are_taken() -> None:
    engine = FakeEngine(FakeEngineSettings(slots=4))
    stats = EngineStats(steps=0, frames=30, active=2, waiting=0, finished=1, beats=5)
    meter = EngineMeter(lambda: stats, engine.info, lambda: 0)

    meter.look()

    assert (meter.pace.batch_fill, meter.pace.step_s) == (0.5, None)
    engine.close()


def test_an_engine_that_waits_for_its_decoder_fills_no_slot() -> None:
    engine = FakeEngine(FakeEngineSettings(slots=4))
    busy = EngineStats(steps=10, frames=40, active=4, waiting=0, finished=0)
    states = iter([busy, replace(busy, beats=3)])
    meter = EngineMeter(lambda: next(states), engine.info, lambda: 0)

    fills = []
    for _ in range(2):
        meter.look()
        fills.append((meter.pace.batch_fill, meter.pace.audio_s_per_s == 0))

    assert fills == [(1.0, False), (0.0, True)]
    engine.close()


def test_a_collector_writes_each_name_once() -> None:
    def read(snapshot: Snapshot) -> None:
        snapshot.add("rhapsode_workers", 1, role="gpu", state="ready")
        snapshot.add("rhapsode_workers", 2, role="cpu", state="ready")

    (family,) = SnapshotCollector(read).collect()

    assert [sample.value for sample in family.samples] == [1, 2]


def _exported_names() -> set[str]:
    return {spec.sample for spec in CATALOGUE.values()}


def _histogram_parts() -> set[str]:
    histograms = [spec.name for spec in CATALOGUE.values() if spec.kind is Kind.HISTOGRAM]
    return {f"{name}_{part}" for name in histograms for part in ("count", "sum", "bucket")}
