"""Which workers Kubernetes should take away first when it scales in: the annotation `pod-deletion-cost` of their pods.

Without it a ReplicaSet ends the youngest, however busy. Such a pod drains and returns its items, so it loses only time.
A GPU may wait `drainSeconds` for a few segments, and live streams move. So idle pods go first. Costs are rounded to
tenths of a worker's slots, so that pods are not written every second.
"""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from storage.queue.worker_registry import ListedWorker, WorkerRegistry, WorkerRole, WorkerState
from storage.runtime.config.settings import SettingsError

logger = logging.getLogger(__name__)

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
TENTHS = 10
LIVE_COST = 10
"""A live stream: its listener may notice that it moves to another worker."""

GONE_COST = -1
TIMEOUT_S = 5.0


def cost_of(worker: ListedWorker) -> int:
    """0 for one that holds nothing; less for one that does not respond."""
    if worker.state is WorkerState.UNRESPONSIVE:
        return GONE_COST
    report = worker.report
    tenths = min(TENTHS, -(-TENTHS * report.leases // (report.slots or TENTHS)))
    # One that refuses new streams has none free, whatever it has under way.
    is_heard = (
        report.live is not None and worker.state is WorkerState.READY and report.live.free < report.live.live_slots
    )
    return tenths + (LIVE_COST if is_heard else 0)


class KubernetesPods:
    """The API server of the cluster that this process runs in, as its service account may use it."""

    def __init__(self, url: str, account: Path) -> None:
        """Raises `SettingsError`."""
        try:
            self._namespace = (account / "namespace").read_text(encoding="utf-8").strip()
            context = ssl.create_default_context(cafile=account / "ca.crt")
        except OSError as error:
            raise SettingsError(f"RHAPSODE_POD_COSTS: no service account of Kubernetes: {error}") from error
        self._token = account / "token"
        self._client = httpx.Client(base_url=url, verify=context, timeout=TIMEOUT_S, trust_env=False)

    def annotate(self, pod: str, annotations: Mapping[str, str]) -> bool:
        """False if there is no such pod. Raises `httpx.HTTPError`."""
        answer = self._client.patch(
            f"/api/v1/namespaces/{self._namespace}/pods/{pod}",
            json={"metadata": {"annotations": annotations}},
            # The kubelet replaces the token every hour or so.
            headers={
                "Authorization": f"Bearer {self._token.read_text(encoding='utf-8').strip()}",
                "Content-Type": "application/merge-patch+json",
            },
        )
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return False
        answer.raise_for_status()
        return True

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def pods_of_this_cluster(account: Path = SERVICE_ACCOUNT, environ: Mapping[str, str] = os.environ) -> KubernetesPods:
    """Raises `SettingsError` where there is none."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise SettingsError("RHAPSODE_POD_COSTS: this is no pod of Kubernetes")
    return KubernetesPods(f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}", account)


class PodCosts:
    """Workers have the names of their pods, as the chart gives them."""

    def __init__(self, registry: WorkerRegistry, pods: KubernetesPods) -> None:
        self._registry = registry
        self._pods = pods
        self._written: dict[str, int] = {}

    def tell_pod_costs(self) -> None:
        """Of every worker whose cost is another than was written. Raises `StoreUnavailable`."""
        costs = {
            worker.report.name: cost_of(worker)
            for worker in self._registry.list()
            if worker.report.role in (WorkerRole.GPU, WorkerRole.CPU)
        }
        self._written = {name: cost for name, cost in self._written.items() if name in costs}
        for name, cost in costs.items():
            if self._written.get(name) == cost:
                continue
            try:
                self._pods.annotate(name, {ANNOTATION: str(cost)})
            except httpx.HTTPError as error:
                # The others would wait for the same server; the rest is written in the next round.
                logger.warning("the deletion cost of a pod was not written", extra={"pod": name, "error": str(error)})
                return
            self._written[name] = cost
