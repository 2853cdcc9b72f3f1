"""The processes of a stack: their commands, and the environment that makes them one system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rhapsode import system_packages
from rhapsode.stack import commands, foreign_lines
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.supervision.child import ProcessSpec

if TYPE_CHECKING:
    from storage.runtime.observability.logs import LogFormat

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


def inherited_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a process of ours takes over from `environ`, the user's, and needs to find our packages."""
    own = {name: value for name, value in environ.items() if name not in CLIENT_ONLY}
    return own | system_packages.environment(environ)


def shared_environment(
    environ: Mapping[str, str], data_dir: DataDir, options: StackOptions, backing: Mapping[str, str]
) -> dict[str, str]:
    """What every process gets: the user's environment, then what the stack decides."""
    shared = inherited_environment(environ)
    shared.setdefault("RHAPSODE_STORE", data_dir.objects.as_uri())
    shared.setdefault("RHAPSODE_URL_SECRET", data_dir.secret("url"))
    shared.setdefault("RHAPSODE_WEBHOOK_KEY", data_dir.secret("webhook"))
    shared.setdefault("RHAPSODE_SLOTS", str(commands.DEFAULT_SLOTS))
    chosen = {
        "RHAPSODE_SLOTS": options.slots,
        "RHAPSODE_CHECKPOINT": options.checkpoint,
        "RHAPSODE_DEVICE": options.device,
        "RHAPSODE_WEBHOOK_ALLOW_PRIVATE": "loopback" if options.has_local_webhooks else None,
    }
    shared |= {name: str(value) for name, value in chosen.items() if value is not None}
    return shared | dict(backing) | {"PYTHONUNBUFFERED": "1"}


def api(shared: Mapping[str, str], data_dir: DataDir, listener_fd: int) -> ProcessSpec:
    command = commands.python("-m", "api.server", "--fd", str(listener_fd))
    return ProcessSpec(API, command, shared, data_dir.run, grace_s=20.0, inherited_fds=(listener_fd,))


def gpu_worker(shared: Mapping[str, str], data_dir: DataDir) -> ProcessSpec:
    environment = {**shared, "RHAPSODE_LANE": "gpu", "RHAPSODE_WORKER_NAME": "gpu-0"}
    command = commands.gpu_worker(shared["RHAPSODE_SLOTS"])
    return ProcessSpec(GPU_WORKER, command, environment, data_dir.run, grace_s=25.0)


def cpu_worker(shared: Mapping[str, str], data_dir: DataDir) -> ProcessSpec:
    environment = {**shared, "RHAPSODE_LANE": "cpu", "RHAPSODE_WORKER_NAME": "cpu-0"}
    return ProcessSpec(CPU_WORKER, commands.cpu_worker(), environment, data_dir.run, grace_s=25.0)


def hooks_worker(shared: Mapping[str, str], data_dir: DataDir) -> ProcessSpec:
    """An attempt under way may take fifteen seconds to end."""
    environment = {**shared, "RHAPSODE_WORKER_NAME": "hooks-0"}
    return ProcessSpec(HOOKS_WORKER, commands.hooks_worker(), environment, data_dir.run, grace_s=20.0)


def janitor(shared: Mapping[str, str], data_dir: DataDir) -> ProcessSpec:
    return ProcessSpec(JANITOR, commands.janitor(), shared, data_dir.run, grace_s=5.0)


def logged_like_ours(foreign: ProcessSpec, log_format: LogFormat) -> ProcessSpec:
    """A program that is not ours, with lines in its log as those that ours write into theirs."""
    if log_format == "console":
        return foreign
    writer = commands.python("-I", "-S", foreign_lines.__file__, foreign.name)
    return replace(foreign, environment={**foreign.environment, "TZ": "UTC"}, log_writer=writer)
