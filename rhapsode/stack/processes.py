"""The processes of a stack: their commands, and the environment that makes them one system."""

from __future__ import annotations

from collections.abc import Mapping

from rhapsode import system_packages
from rhapsode.stack import commands
from rhapsode.stack.layout import DataDir
from rhapsode.stack.models import with_checkpoints
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.plan import PlannedProcess, StackPlan
from rhapsode.stack.planning.wishes import DEVICE_SETTING
from rhapsode.stack.process_names import API, CPU_WORKER, GPU_WORKER, HOOKS_WORKER, JANITOR, VALKEY
from rhapsode.stack.supervision.child import ProcessSpec
from storage.live.address import MOST_ADDRESSES

CLIENT_ONLY = frozenset(
    {
        *("RHAPSODE_SERVER_URL", "RHAPSODE_API_KEY", "RHAPSODE_DATA_DIR", "RHAPSODE_PORT", "RHAPSODE_DEBUG"),
        *("RHAPSODE_API_PROCESSES", "RHAPSODE_CPU_WORKERS"),
    }
)
"""The command line's own settings: the processes neither need nor know them."""

STOP_ORDER = ((API,), (GPU_WORKER, CPU_WORKER, HOOKS_WORKER), (JANITOR,), (VALKEY,))
"""No new work, then the work in flight goes back, then those who tidy up, then the state they all write to."""

GRACE_S = {API: 20.0, GPU_WORKER: 25.0, CPU_WORKER: 25.0, HOOKS_WORKER: 20.0, JANITOR: 5.0}
"""A webhook's attempt may take fifteen seconds to end."""

LIVE_PORT = "RHAPSODE_LIVE_PORT"
"""Of the first worker that speaks; the others take the next ones."""


def stop_order(plan: StackPlan) -> tuple[tuple[str, ...], ...]:
    """The names of the processes, as `STOP_ORDER` has their kinds."""
    return tuple(tuple(name for kind in kinds for name in _names(kind, plan)) for kinds in STOP_ORDER)


def _names(kind: str, plan: StackPlan) -> tuple[str, ...]:
    return tuple(process.name for process in plan.of_kind(kind)) or (kind,)


def inherited_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a process of ours takes over from `environ`, the user's, and needs to find our packages."""
    own = {name: value for name, value in environ.items() if name not in CLIENT_ONLY}
    return own | system_packages.environment(environ)


def shared_environment(
    environ: Mapping[str, str], data_dir: DataDir, options: StackOptions, backing: Mapping[str, str]
) -> dict[str, str]:
    """What every process gets: the user's environment, then what the stack decides. Raises `ModelNotPulled`."""
    shared = inherited_environment(environ)
    shared.setdefault("RHAPSODE_STORE", data_dir.objects.as_uri())
    shared.setdefault("RHAPSODE_URL_SECRET", data_dir.secret("url"))
    shared.setdefault("RHAPSODE_WEBHOOK_KEY", data_dir.secret("webhook"))
    # Each speaking worker has one device.
    shared.pop(DEVICE_SETTING, None)
    chosen = {
        "RHAPSODE_SLOTS": options.slots,
        "RHAPSODE_CHECKPOINT": options.checkpoint,
        "RHAPSODE_WEBHOOK_ALLOW_PRIVATE": "loopback" if options.has_local_webhooks else None,
    }
    shared |= {name: str(value) for name, value in chosen.items() if value is not None}
    return with_checkpoints(shared, data_dir) | dict(backing) | {"PYTHONUNBUFFERED": "1"}


def spec_of(
    planned: PlannedProcess, shared: Mapping[str, str], data_dir: DataDir, listener_fd: int | None = None
) -> ProcessSpec:
    """listener_fd: the socket that API processes accept from."""
    environment, inherited = {**shared}, () if listener_fd is None else (listener_fd,)
    if listener_fd is None:
        command = commands.BY_KIND[planned.kind]()
        environment["RHAPSODE_WORKER_NAME"] = planned.worker_name
    elif planned.how_many == 1:
        command = commands.api_behind(listener_fd)
    else:
        command = commands.one_of_several_apis(listener_fd, planned.number, data_dir.metrics)
    if planned.device:
        environment[DEVICE_SETTING] = planned.device
    if planned.kind == GPU_WORKER and (port := shared.get(LIVE_PORT, "")).isdecimal() and int(port):
        environment[LIVE_PORT] = str(int(port) + MOST_ADDRESSES * planned.number)
    grace_s = GRACE_S[planned.kind]
    return ProcessSpec(planned.name, command, environment, data_dir.run, grace_s, inherited, planned.cores)
