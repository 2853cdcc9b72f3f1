"""What to execute for each kind of process, under any supervisor: `rhapsode up`, a container, or a unit of systemd."""

from __future__ import annotations

import sys
from pathlib import Path

from rhapsode.stack.process_names import CPU_WORKER, CPU_WORKER_THREADS, GPU_WORKER, HOOKS_WORKER, JANITOR


def python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, *arguments)


def api(host: str, port: int) -> tuple[str, ...]:
    return python("-m", "api.server", "--host", host, "--port", str(port))


def api_behind(listener_fd: int) -> tuple[str, ...]:
    """On a socket that listens already."""
    return python("-m", "api.server", "--fd", str(listener_fd))


def one_of_several_apis(listener_fd: int, number: int, metrics: Path) -> tuple[str, ...]:
    """On a socket that they share. metrics: the folder where each keeps what all answer."""
    shared = ("--metrics", str(metrics), "--number", str(number))
    return python("-m", "api.one_of_several", *shared, "--fd", str(listener_fd))


def gpu_worker() -> tuple[str, ...]:
    """One ticket at a time for each front: it wakes that, which has one thread per item, enough for its slots."""
    return _celery("gpu", "worker.gpu_app")


def cpu_worker() -> tuple[str, ...]:
    return _celery("cpu", "worker.cpu_app", "--concurrency", str(CPU_WORKER_THREADS))


def decoder_worker() -> tuple[str, ...]:
    return python("-m", "worker.decoder")


def hooks_worker() -> tuple[str, ...]:
    """A separate setting has its number of threads."""
    return _celery("hooks", "worker.webhooks.app")


def janitor() -> tuple[str, ...]:
    return python("-m", "worker.janitor")


BY_KIND = {GPU_WORKER: gpu_worker, CPU_WORKER: cpu_worker, HOOKS_WORKER: hooks_worker, JANITOR: janitor}
BY_KIND["decoder-worker"] = decoder_worker


def _celery(lane: str, app: str, *options: str) -> tuple[str, ...]:
    return python(
        *("-m", "worker.process.celery_command", app, "--pool", "threads", *options),
        *("--hostname", f"{lane}@%h", "--loglevel", "INFO"),
        *("--without-mingle", "--without-gossip", "--without-heartbeat"),
    )
