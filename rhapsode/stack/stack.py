"""The whole system on one machine as one object: Valkey, API, workers and janitor in a data folder.

`start` takes the folder and the port and starts a thread that owns all processes; the rest of the methods talk
to that thread. Errors of the start come out of `wait_ready`, in the caller's thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace

from rhapsode.stack import processes
from rhapsode.stack.address import listen, url_of
from rhapsode.stack.backing import StateProbe, choose_backing, refuse_unknown, storage_settings
from rhapsode.stack.errors import DataFolderUnusable, StopAsked
from rhapsode.stack.events import Observer, OrphansEnded, ProcessesPlanned, StackReady, StateUnwritten, WaitingFor
from rhapsode.stack.folder_format import claim_format
from rhapsode.stack.ground import refuse_few_files, refuse_unnamable
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.plan import PlannedProcess
from rhapsode.stack.planning.this_machine import plan_stack
from rhapsode.stack.probe import answers, api_client
from rhapsode.stack.process_identity import start_mark
from rhapsode.stack.process_names import GPU_WORKER
from rhapsode.stack.state_file import ProcessRecord, StackState, read_state, take_lock, write_state
from rhapsode.stack.supervision.child import ProcessSpec, SupervisedChild
from rhapsode.stack.supervision.supervisor import Supervisor, end_orphans
from storage.runtime.config.sources import without_empty

LOOK_S = 0.1


class Stack:
    """Use as a context manager, or call `start`, `wait_ready` and `stop`. One start only.

    url: where the API listens; known after `start`.
    """

    def __init__(self, options: StackOptions, environ: Mapping[str, str], observer: Observer) -> None:
        self._options = options
        self._environ = without_empty(environ)
        self._observer = observer
        self._data_dir = DataDir(options.data_dir)
        self._supervisor = Supervisor(observer, self.note_children)
        self._stop_asked = threading.Event()
        self._kill_asked = threading.Event()
        self._ready = threading.Event()
        self._has_come_up = False
        self._is_noted = True
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="rhapsode-stack")
        self.url = ""

    def start(self) -> None:
        """Take folder and port and begin to start the processes. Raises `StackError`; then nothing was started."""
        refuse_unnamable(self._data_dir.root)
        refuse_few_files()
        self._plan = plan_stack(self._options, self._environ)
        try:
            self._data_dir.create()
            lock = take_lock(self._data_dir)
        except OSError as error:
            raise DataFolderUnusable(self._data_dir.root, error) from error
        try:
            claim_format(self._data_dir)
            for file in self._data_dir.metrics.iterdir():
                file.unlink()
            left_behind = read_state(self._data_dir)
            orphans = end_orphans(left_behind.children if left_behind else ())
            known = self._environ.get("RHAPSODE_API_KEYS") or self._environ.get("RHAPSODE_OIDC_ISSUER", "")
            self._listener = listen(self._options.host, self._options.port, known)
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock
        self.url = url_of(self._listener)
        try:
            self._write_state(())
        except OSError as error:
            self._listener.close()
            os.close(lock)
            raise DataFolderUnusable(self._data_dir.root, error) from error
        self._observer(ProcessesPlanned(self._plan))
        if orphans:
            self._observer(OrphansEnded(tuple(record.name for record in orphans)))
        self._thread.start()

    def wait_ready(self) -> None:
        """Return when a narration can be submitted. Raises what stopped the start, a `StackError` as a rule."""
        while not self._ready.wait(LOOK_S):
            if self._ended.is_set():
                raise self._failure or StopAsked("the stack was stopped while it started")

    def has_ended(self, wait_s: float) -> bool:
        """True once every process is gone; waits up to `wait_s` for it."""
        return self._ended.wait(wait_s)

    def raise_failure(self) -> None:
        """Raise what made the stack end on its own, if something did."""
        if self._failure is not None:
            raise self._failure

    def ask_to_stop(self) -> None:
        """Begin the orderly end. Returns at once; may be called from a signal handler."""
        self._stop_asked.set()

    def ask_to_hurry(self) -> None:
        """Kill what still runs. Jobs lose at most what is in flight, as with any crash."""
        self._kill_asked.set()
        self._stop_asked.set()

    def stop(self) -> None:
        """The orderly end, to its end. A KeyboardInterrupt meanwhile hurries it."""
        self.ask_to_stop()
        while not self.has_ended(LOOK_S):
            pass
        self._thread.join()

    def __enter__(self) -> Stack:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        except KeyboardInterrupt:
            self.ask_to_hurry()
            self.stop()
            raise

    def _run(self) -> None:
        try:
            self._start_processes()
            while not self._stop_asked.wait(LOOK_S):
                self._supervisor.watch()
        except BaseException as error:  # noqa: BLE001  # the thread's end: its waiter raises it
            self._failure = error
        finally:
            self._stop_processes()

    def _start_processes(self) -> None:
        refuse_unknown(self._environ)
        backing = choose_backing(self._environ, self._data_dir)
        shared = processes.shared_environment(self._environ, self._data_dir, self._options, backing.environment)
        settings = storage_settings(shared)
        with closing(StateProbe(settings)) as state:
            self._observer(WaitingFor("Valkey" if backing.server else "Redis"))
            if backing.server:
                server = replace(backing.server, cores=self._plan.common_cores)
                self._supervisor.start([SupervisedChild(server, self._data_dir.logs)])
            if not self._await(state.is_answering):
                return
            self._supervisor.start(
                [SupervisedChild(self._spec(each, shared), self._data_dir.logs) for each in self._plan.processes]
            )
            self._await_service(state)

    def _await_service(self, state: StateProbe) -> None:
        with api_client(self.url) as client:
            self._observer(WaitingFor("the API"))
            if not self._await(lambda: answers(client, "/livez")):
                return
            self._observer(WaitingFor("the model to load"))
            if not self._await(lambda: state.model() is not None and self._all_speak(state)):
                return
            self._observer(WaitingFor("the API to reach Redis and the store"))
            if not self._await(lambda: answers(client, "/readyz")):
                return
        card = state.model()
        self._has_come_up = True
        self._supervisor.announce()
        self._observer(StackReady(self.url, card.name if card else "", card.notice if card else ""))
        self._ready.set()

    def _await(self, is_so: Callable[[], bool]) -> bool:
        """Look after the processes until `is_so`; False if a stop was asked for before."""
        while not is_so():
            if self._stop_asked.wait(LOOK_S):
                return False
            self._supervisor.watch_start()
        return True

    def _all_speak(self, state: StateProbe) -> bool:
        ready = state.workers()
        speaking = self._plan.of_kind(GPU_WORKER)
        return all((each.worker_name, self._supervisor.pid(each.name)) in ready for each in speaking)

    def _spec(self, planned: PlannedProcess, shared: Mapping[str, str]) -> ProcessSpec:
        listener_fd = self._listener.fileno() if planned.kind == processes.API else None
        return processes.spec_of(planned, shared, self._data_dir, listener_fd)

    def _stop_processes(self) -> None:
        try:
            self._listener.close()
            self._supervisor.stop(processes.stop_order(self._plan), self._kill_asked.is_set)
            self._data_dir.state_file.unlink(missing_ok=True)
        finally:
            os.close(self._lock)
            self._ended.set()

    def note_children(self, children: tuple[ProcessRecord, ...]) -> bool:
        """Write down what runs, for other commands and the next start. Only the first failure is an event."""
        was_noted, self._is_noted = self._is_noted, False
        try:
            self._write_state(children)
            self._is_noted = True
        except OSError as error:
            # What runs is worth more than the note of it.
            if was_noted:
                self._observer(StateUnwritten(self._data_dir.state_file, error.strerror or str(error)))
        return self._is_noted

    def _write_state(self, children: tuple[ProcessRecord, ...]) -> None:
        pid = os.getpid()
        mark = start_mark(pid) or ""
        state = StackState(
            url=self.url,
            pid=pid,
            mark=mark,
            lifetime=self._options.lifetime,
            is_ready=self._has_come_up,
            children=children,
        )
        write_state(self._data_dir, state)
