"""What a worker's pod costs, told to a server that speaks the protocol of Kubernetes over TLS."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import redis

from storage.live.address import LiveAddress
from storage.queue.worker_registry import WorkerRegistry, WorkerReport, WorkerRole
from storage.runtime.config.settings import SettingsError, StorageSettings
from tests.security.tls_servers import Authority
from worker.janitor.pod_costs import ANNOTATION, PodCosts, pods_of_this_cluster

BUSY = WorkerReport("gpu-busy", WorkerRole.GPU, "node", 1, "0.1.0", 0, leases=17, queue="gpu.m", slots=64)
LIVE = LiveAddress("ws://10.0.0.1:8770", "t" * 32, live_slots=4, free=3, revision="r", step_ms=None)


class Cluster(http.server.ThreadingHTTPServer):
    """known: its pods. answer: a status for all of them, if that is not what becomes of the request."""

    def __init__(self, authority: Authority) -> None:
        super().__init__(("127.0.0.1", 0), Pods)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.certificate, authority.key)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.known = {"gpu-busy", "gpu-idle", "gpu-live", "cpu-0"}
        self.answer: int | None = None
        self.patched: list[tuple[str, str]] = []


class Pods(http.server.BaseHTTPRequestHandler):
    def do_PATCH(self) -> None:
        cluster = cast("Cluster", self.server)
        *folder, pod = self.path.split("/")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_right = (
            folder == ["", "api", "v1", "namespaces", "speech", "pods"]
            and self.headers["Authorization"] == "Bearer the-token"
            and self.headers["Content-Type"] == "application/merge-patch+json"
            and list(body) == ["metadata"]
        )
        status = cluster.answer or (422 if not is_right else 200 if pod in cluster.known else 404)
        if status == 200:
            cluster.patched.append((pod, body["metadata"]["annotations"][ANNOTATION]))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.made_in(tmp_path / "authority")


@pytest.fixture
def cluster(authority: Authority) -> Iterator[Cluster]:
    with Cluster(authority) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        yield server
        server.shutdown()


@pytest.fixture
def registry(redis_client: redis.Redis, storage_settings: StorageSettings) -> WorkerRegistry:
    return WorkerRegistry(redis_client, storage_settings.key_prefix)


@pytest.fixture
def costs(cluster: Cluster, authority: Authority, registry: WorkerRegistry, tmp_path: Path) -> Iterator[PodCosts]:
    account = tmp_path / "account"
    account.mkdir()
    (account / "namespace").write_text("speech")
    (account / "token").write_text("the-token\n")
    (account / "ca.crt").write_bytes(authority.ca.read_bytes())
    there = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(cluster.server_port)}
    with pods_of_this_cluster(account, there) as pods:
        yield PodCosts(registry, pods)


def test_who_holds_nothing_costs_nothing_and_the_others_what_they_hold(
    costs: PodCosts, cluster: Cluster, registry: WorkerRegistry
) -> None:
    registry.report(BUSY)
    registry.report(replace(BUSY, name="gpu-idle", leases=0))
    registry.report(replace(BUSY, name="gpu-live", leases=64, live=LIVE))
    registry.report(WorkerReport("cpu-0", WorkerRole.CPU, "node", 1, "0.1.0", 0, leases=2, queue="cpu"))
    registry.report(WorkerReport("janitor-0", WorkerRole.JANITOR, "node", 1, "0.1.0", 0, leases=0))

    costs.tell_pod_costs()

    assert dict(cluster.patched) == {"gpu-busy": "3", "gpu-idle": "0", "gpu-live": "20", "cpu-0": "2"}


def test_a_pod_is_written_when_its_cost_changes_and_not_before(
    costs: PodCosts, cluster: Cluster, registry: WorkerRegistry
) -> None:
    for leases in (17, 18, 19, 40, 0, 0):
        registry.report(replace(BUSY, leases=leases))
        costs.tell_pod_costs()

    assert cluster.patched == [("gpu-busy", "3"), ("gpu-busy", "7"), ("gpu-busy", "0")]


def test_a_worker_that_is_no_pod_here_is_passed_over(
    costs: PodCosts, cluster: Cluster, registry: WorkerRegistry
) -> None:
    registry.report(replace(BUSY, name="another-host"))
    registry.report(BUSY)

    costs.tell_pod_costs()

    assert cluster.patched == [("gpu-busy", "3")]


@pytest.mark.parametrize("status", [403, 500])
def test_what_a_server_refused_is_told_again(
    status: int, costs: PodCosts, cluster: Cluster, registry: WorkerRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    registry.report(BUSY)
    cluster.answer = status

    costs.tell_pod_costs()
    cluster.answer = None
    costs.tell_pod_costs()

    assert cluster.patched == [("gpu-busy", "3")]
    assert [record.message for record in caplog.records] == ["the deletion cost of a pod was not written"]


def test_a_process_outside_kubernetes_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no pod of Kubernetes"):
        pods_of_this_cluster(tmp_path, {})
    with pytest.raises(SettingsError, match="no service account"):
        pods_of_this_cluster(tmp_path, {"KUBERNETES_SERVICE_HOST": "127.0.0.1"})
