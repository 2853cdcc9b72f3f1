"""A whole system as `rhapsode up` starts it, on the fake engine, with its processes by name to be killed."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, cast

import redis
from pydantic import SecretStr

from rhapsode.stack import processes
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.plan import PlannedProcess
from rhapsode.stack.process_names import GPU_WORKER
from rhapsode.stack.state_file import read_state
from storage.database.connections import connect_redis, open_artifacts
from storage.database.embedded_valkey import EmbeddedRedis
from storage.database.keys import RedisKeys
from storage.ids import WorkQueue
from storage.job_store.store import JobStore
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.settings import StorageSettings
from tests.command_line import ONE_OF_EACH
from tests.environment import without_settings
from tests.process_tree import children_of, end_everything_below, is_alive, runs_module
from tests.security.bombs import NO_ENVELOPE, bombs, true_ticket

CLI = str(Path(sys.executable).parent / "rhapsode")
TENANTS = tuple(f"tenant-{number}" for number in range(7))
SLOTS = 16
STEP_S = 0.007
START_S = 120
LOOK_S = 0.05
"""Between two looks at the system, which take time from it."""

ENGINE_HOST = "worker.engine.process.host"
POSTPROCESSOR = "worker.speech.postprocessing.process"
KEYS = RedisKeys("rhapsode")


def api_key(tenant: str) -> str:
    return f"rhk-{tenant}"


@dataclass(frozen=True)
class Leftovers:
    """What an idle system must not have. Every number should be zero."""

    drift: tuple[str, ...]
    leases: int
    waiting_retries: int
    unfinished_jobs: int
    ready_items: int


class RunningSystem:
    """One `rhapsode up` on one data folder; `start` again after `kill_everything`."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.data_dir = DataDir(folder)
        self._settings = settings
        self._up: subprocess.Popen[bytes] | None = None
        self._starts = 0
        self._extra: list[subprocess.Popen[bytes]] = []
        self.rows = 0
        """Of those that share the system, how many have begun."""
        self._begun_at = ""
        self._claims_before = 0
        self._jobs_before: set[str] = set()

    # ------------------------------------------------------------------------------------------ life

    def start(self) -> None:
        """Returns when a narration can be submitted."""
        self.data_dir.root.mkdir(parents=True, exist_ok=True)
        self._starts += 1
        with (self.data_dir.root / "up.log").open("ab") as log:
            self._up = subprocess.Popen(
                [CLI, "up", "--data-dir", str(self.data_dir.root), "--port", "0", *ONE_OF_EACH],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment(),
                start_new_session=True,
            )
        self.eventually(self._is_ready, START_S)

    def begin_row(self) -> None:
        """What was counted so far, the next row does not count."""
        self.rows += 1
        self._claims_before += self.claims()
        self._jobs_before |= self.job_ids()
        self._begun_at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"

    def start_gpu_worker(self, name: str, **settings: str) -> int:
        """One more worker of the gpu lane, which is not started again. Returns its process id once it is ready.

        settings: by variable name, in which it differs from the system's.
        """
        options = StackOptions(self.data_dir.root)
        backing = {"RHAPSODE_REDIS_URL": self._valkey.url, "RHAPSODE_BROKER_URL": self._valkey.broker_url}
        shared = processes.shared_environment(self._environment(), self.data_dir, options, backing)
        spec = processes.spec_of(PlannedProcess(GPU_WORKER, 0, 1, 1), shared, self.data_dir)
        log = self.data_dir.logs / f"{name}.log"
        environment = {**spec.environment, "RHAPSODE_WORKER_NAME": name, **settings}
        process = _spawn(spec.command, environment, log, spec.working_dir)
        self._extra.append(process)
        self.eventually(lambda: "worker ready" in log.read_text(), START_S)
        return process.pid

    def stop(self) -> None:
        """As Ctrl-C does. Returns when all is gone."""
        assert self._up is not None
        self._up.send_signal(signal.SIGINT)
        self._up.wait(START_S)

    def kill_everything(self) -> None:
        """SIGKILL to the supervisor and all the others, down to those that the workers and the API have started."""
        assert self._up is not None
        ours = (self._up, *self._extra)
        state = read_state(self.data_dir)
        # These are below the supervisor, unless it has died before.
        children = [child.pid for child in (state.children if state else ()) if child.is_alive()]
        end_everything_below([process.pid for process in ours if process.poll() is None] + children)
        for process in ours:
            process.wait()

    # ------------------------------------------------------------------------------------------ processes

    def pid(self, name: str) -> int:
        """Waits while the process is being started again."""
        found: list[int] = []

        def is_there() -> bool:
            state = read_state(self.data_dir)
            found[:] = [child.pid for child in (state.children if state else ()) if child.name == name]
            return bool(found) and is_alive(found[0])

        self.eventually(is_there, START_S)
        return found[0]

    def engine_pid(self) -> int:
        """The host process of the gpu worker's engine."""
        found: list[int] = []

        def is_there() -> bool:
            found[:] = self._below_gpu_worker(ENGINE_HOST)
            return bool(found)

        self.eventually(is_there, START_S)
        return found[0]

    def postprocessor_pids(self) -> list[int]:
        """The processes that judge and store what the gpu worker's engine spoke."""
        return self._below_gpu_worker(POSTPROCESSOR)

    def wait_replaced(self, name: str, old_pid: int) -> None:
        self.eventually(lambda: self.pid(name) != old_pid, START_S)

    def restarts(self, name: str) -> int:
        """How often the supervisor has started this process again."""
        return sum(event["process_name"] == name for event in self._up_events("process runs again"))

    # ------------------------------------------------------------------------------------------ views

    @property
    def url(self) -> str:
        state = read_state(self.data_dir)
        assert state is not None
        return state.url

    @functools.cached_property
    def storage_settings(self) -> StorageSettings:
        """As the processes of this system have them; known once it has started."""
        return StorageSettings(
            redis_url=SecretStr(self._valkey.url),
            broker_url=SecretStr(self._valkey.broker_url),
            store=self._settings.get("RHAPSODE_STORE", self.data_dir.objects.as_uri()),
            s3_endpoint_url=self._settings.get("RHAPSODE_S3_PUBLIC_ENDPOINT"),
            url_secret=SecretStr(self.data_dir.secret("url")),
        )

    def redis(self) -> redis.Redis:
        """A client of the state database."""
        return connect_redis(self.storage_settings)

    def jobs(self, client: redis.Redis) -> JobStore:
        return JobStore(client)

    def tickets(self) -> TicketQueue:
        return TicketQueue(create_celery(self.storage_settings, "fault-tests"))

    def flush_broker(self) -> None:
        with self.redis() as client:
            client.execute_command("SELECT", 1)
            client.execute_command("FLUSHDB")
            client.execute_command("SELECT", 0)

    def put_into_broker(self, queue: WorkQueue, message: bytes) -> None:
        """Behind our backs, as somebody would who can reach the broker."""
        with self.redis() as client:
            client.execute_command("SELECT", 1)
            client.rpush(f"rhapsode:b:{queue}", message)
            client.execute_command("SELECT", 0)

    def bombs(self, canary: Path) -> list[bytes]:
        """Messages that are no tickets; one of them would make the file `canary`."""
        return [*bombs(true_ticket(self.storage_settings), canary).values(), *NO_ENVELOPE]

    def leases(self) -> int:
        with self.redis() as client:
            return int(client.zcard(KEYS.single("leases")))

    def leases_of(self, worker: str) -> int:
        with self.redis() as client:
            return int(client.hlen(f"{KEYS.root}:worker:{worker}"))

    def claims(self) -> int:
        """All leases given out in this row."""
        with self.redis() as client:
            return int(cast("str | None", client.get(KEYS.single("fence"))) or 0) - self._claims_before

    def claims_beyond_first(self) -> int:
        """Leases given out that were not the one whose result counts, once every job has ended."""
        return self.claims() - self._results(lambda _: True)

    def finished_segments(self) -> int:
        return self._results(str.isdecimal)

    def last_commit_s(self) -> float:
        """When a segment was last committed, on this machine's clock; 0 while the database does not answer."""
        with self.redis() as client, suppress(redis.RedisError):
            known = cast("dict[str, str]", client.hgetall(KEYS.single("throughput")))
            return max((int(value) for field, value in known.items() if field.endswith(":at_ms")), default=0) / 1000
        return 0

    def charged_attempts(self) -> int:
        """Items with an attempt held against them. An item that nothing ever failed has no entry."""
        charged = 0
        with self.redis() as client:
            for key in self._keys_of_row(client, "tries"):
                tries = cast("dict[str, str]", client.hgetall(key))
                charged += sum(not value.startswith("0:") for value in tries.values())
        return charged

    def job_ids(self) -> set[str]:
        with self.redis() as client:
            return {key.rpartition(":")[2] for key in self._keys_of_row(client, "job")}

    def leftovers(self) -> Leftovers:
        with self.redis() as client:
            drift = self.jobs(client).audit_counters()
            return Leftovers(
                drift=tuple(f"{each.name}: {each.actual} instead of {each.expected}" for each in drift),
                leases=int(client.zcard(KEYS.single("leases"))),
                waiting_retries=int(client.zcard(KEYS.single("retries"))),
                unfinished_jobs=int(client.scard(KEYS.single("active"))),
                ready_items=sum(self.jobs(client).ready_counts().values()),
            )

    def objects(self, prefix: str) -> list[str]:
        """Keys in the store that begin like this."""
        return [entry.key for entry in open_artifacts(self.storage_settings).list(prefix)]

    def log_events(self, event: str) -> list[dict[str, object]]:
        """Every line of every process's log with this message."""
        events: list[dict[str, object]] = []
        for log in sorted(self.data_dir.logs.glob("*.log*")):
            for line in log.read_text(errors="replace").splitlines():
                if f'"{event}"' in line and line.startswith("{"):
                    events.append(json.loads(line))
        return [entry for entry in events if entry.get("event") == event and str(entry["timestamp"]) >= self._begun_at]

    def last_words(self) -> str:
        """The ends of all logs, for a failing test."""
        logs = [self.data_dir.root / "up.log", *sorted(self.data_dir.logs.glob("*.log"))]
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-2500:]}" for log in logs if log.exists())

    def eventually(self, is_so: Callable[[], bool], timeout_s: float) -> None:
        until_s = time.monotonic() + timeout_s
        while not is_so():
            if time.monotonic() > until_s:
                raise AssertionError(f"it did not come true in {timeout_s:.0f} s\n{self.last_words()}")
            time.sleep(LOOK_S)

    # ------------------------------------------------------------------------------------------ inside

    @property
    def _valkey(self) -> EmbeddedRedis:
        return EmbeddedRedis(self.data_dir.valkey)

    def _environment(self) -> dict[str, str]:
        mine = without_settings(os.environ)
        keys = {hashlib.sha256(api_key(tenant).encode()).hexdigest(): tenant for tenant in TENANTS}
        chosen = {
            "RHAPSODE_ENGINE": "fake",
            "RHAPSODE_SLOTS": str(SLOTS),
            "RHAPSODE_FAKE_STEP_S": str(STEP_S),
            "RHAPSODE_LOG_FORMAT": "json",
            "RHAPSODE_API_KEYS": json.dumps(keys),
            # Whatever the machine has: the tests name who is struck.
            "RHAPSODE_API_PROCESSES": "1",
            "RHAPSODE_CPU_WORKERS": "1",
        }
        return mine | chosen | self._settings

    def _results(self, is_counted: Callable[[str], bool]) -> int:
        with self.redis() as client:
            tables = [cast("list[str]", client.hkeys(key)) for key in self._keys_of_row(client, "results")]
        return sum(is_counted(item) for items in tables for item in items)

    def _keys_of_row(self, client: redis.Redis, kind: str) -> list[str]:
        """Each ends with its job."""
        return [
            key for key in client.scan_iter(f"{KEYS.root}:{kind}:*") if key.rpartition(":")[2] not in self._jobs_before
        ]

    def _is_ready(self) -> bool:
        assert self._up is not None
        if self._up.poll() is not None:
            raise AssertionError(f"`rhapsode up` ended with {self._up.returncode}\n{self.last_words()}")
        return len(self._up_events("ready")) == self._starts

    def _up_events(self, event: str) -> list[dict[str, object]]:
        """What the supervisor told so far; its last line may be half written."""
        lines = (self.data_dir.root / "up.log").read_text(errors="replace").split("\n")[:-1]
        return [told for line in lines if (told := json.loads(line))["event"] == event]

    def _below_gpu_worker(self, module: str) -> list[int]:
        return [pid for pid in children_of(self.pid(processes.GPU_WORKER)) if runs_module(pid, module)]


def _spawn(command: tuple[str, ...], environment: dict[str, str], log: Path, folder: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=cast("IO[bytes]", output),
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
