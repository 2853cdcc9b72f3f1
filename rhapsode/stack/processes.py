"""The processes of a stack: their commands, and the environment that makes them one system."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from rhapsode.stack.child import ProcessSpec
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions

DEFAULT_SLOTS = 16
CPU_THREADS = 4

CLIENT_ONLY = frozenset(
    {"RHAPSODE_SERVER_URL", "RHAPSODE_API_KEY", "RHAPSODE_DATA_DIR", "RHAPSODE_PORT", "RHAPSODE_DEBUG"}
)
"""The command line's own settings: the processes neither need nor know them."""

VALKEY = "valkey"
API = "api"
GPU_WORKER = "gpu-worker"
CPU_WORKER = "cpu-worker"
HOOKS_WORKER = "hooks-worker"
JANITOR = "janitor"
OBJECT_SERVER = "object-server"

STOP_ORDER = ((API,), (GPU_WORKER, CPU_WORKER, HOOKS_WORKER), (JANITOR,), (VALKEY, OBJECT_SERVER))
"""No new work, then the work in flight goes back, then those who tidy up, then the state they all write to."""


def shared_environment(
    environ: Mapping[str, str], data_dir: DataDir, options: StackOptions, backing: Mapping[str, str]
) -> dict[str, str]:
    """What every process gets: the user's environment, then what the stack decides."""
    shared = {name: value for name, value in environ.items() if name not in CLIENT_ONLY}
    shared.setdefault("RHAPSODE_STORE", data_dir.objects.as_uri())
    shared.setdefault("RHAPSODE_URL_SECRET", data_dir.secret("url"))
    shared.setdefault("RHAPSODE_WEBHOOK_KEY", data_dir.secret("webhook"))
    shared.setdefault("RHAPSODE_SLOTS", str(DEFAULT_SLOTS))
    chosen = {
        "RHAPSODE_SLOTS": options.slots,
        "RHAPSODE_CHECKPOINT": options.checkpoint,
        "RHAPSODE_DEVICE": options.device,
        "RHAPSODE_WEBHOOK_ALLOW_PRIVATE": "loopback" if options.has_local_webhooks else None,
    }
    shared |= {name: str(value) for name, value in chosen.items() if value is not None}
    return shared | dict(backing) | {"PYTHONUNBUFFERED": "1"}


def python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)


def api(shared: Mapping[str, str], data_dir: DataDir, listener_fd: int) -> ProcessSpec:
    command = python("-m", "api.server", "--fd", str(listener_fd))
    return ProcessSpec(API, command, shared, data_dir.run, grace_s=6.0, inherited_fds=(listener_fd,))


def gpu_worker(shared: Mapping[str, str], data_dir: DataDir) -> ProcessSpec:
    """More threads than slots: while one request leaves the engine the next already waits for its slot."""
    slots = shared["RHAPSODE_SLOTS"]
    threads = max(2, int(slots) * 3 // 2) if slots.isdecimal() else 2
    environment = {**shared, "RHAPSODE_LANE": "gpu", "RHAPSODE_WORKER_NAME": "gpu-0"}
    command = _celery("gpu", "worker.app", "--concurrency", str(threads))
    return ProcessSpec(GPU_WORKER, command, environment, data_dir.run, grace_s=25.0)


def cpu_worker(shared: Mapping[str, str], data_dir: DataDir) -> ProcessSpec:
    environment = {**shared, "RHAPSODE_LANE": "cpu", "RHAPSODE_WORKER_NAME": "cpu-0"}
    command = _celery("cpu", "worker.app", "--concurrency", str(CPU_THREADS))
    return ProcessSpec(CPU_WORKER, command, environment, data_dir.run, grace_s=25.0)


def hooks_worker(shared: Mapping[str, str], data_dir: DataDir) -> ProcessSpec:
    """Its number of threads is a setting of its own. An attempt under way may take fifteen seconds to end."""
    environment = {**shared, "RHAPSODE_WORKER_NAME": "hooks-0"}
    return ProcessSpec(HOOKS_WORKER, _celery("hooks", "worker.webhooks.app"), environment, data_dir.run, grace_s=20.0)


def janitor(shared: Mapping[str, str], data_dir: DataDir) -> ProcessSpec:
    return ProcessSpec(JANITOR, python("-m", "worker.janitor"), shared, data_dir.run, grace_s=5.0)


def _celery(lane: str, app: str, *options: str) -> tuple[str, ...]:
    return python(
        *("-m", "celery", "--quiet", "--app", app, "worker", "--pool", "threads", *options),
        *("--hostname", f"{lane}@%h", "--loglevel", "INFO"),
        *("--without-mingle", "--without-gossip", "--without-heartbeat"),
    )
