"""Several API processes behind one address and nothing else of a stack: `rhapsode run api --processes 4`."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from pathlib import Path

from rhapsode.stack import commands
from rhapsode.stack.address import url_of
from rhapsode.stack.events import Observer
from rhapsode.stack.probe import answers, api_client
from rhapsode.stack.process_names import API, process_name
from rhapsode.stack.supervision.child import ProcessSpec, SupervisedChild
from rhapsode.stack.supervision.supervisor import Supervisor

LOOK_S = 0.1
GRACE_S = 20.0


class ApiGroup:
    """Processes that accept from one listener. folder: where they keep what they measure.

    Call `run` from the thread that is to last longest: when it ends, they do.
    """

    def __init__(
        self,
        listener: socket.socket,
        how_many: int,
        environment: Mapping[str, str],
        folder: Path,
        observer: Observer,
    ) -> None:
        self._url = url_of(listener)
        self._children = tuple(
            SupervisedChild(
                ProcessSpec(
                    process_name(API, number, how_many),
                    commands.one_of_several_apis(listener.fileno(), number, folder),
                    environment,
                    Path.cwd(),
                    GRACE_S,
                    inherited_fds=(listener.fileno(),),
                ),
                logs=None,
            )
            for number in range(how_many)
        )
        self._supervisor = Supervisor(observer, lambda records: True)
        self._stop_asked = threading.Event()

    def ask_to_stop(self) -> None:
        """Returns at once; may be called from a signal handler."""
        self._stop_asked.set()

    def run(self) -> None:
        """Until it is asked to stop. Raises `StartFailed`."""
        try:
            self._supervisor.start(self._children)
            self._await_first_answer()
            while not self._stop_asked.wait(LOOK_S):
                self._supervisor.watch()
        finally:
            names = tuple(child.spec.name for child in self._children)
            self._supervisor.stop((names,), lambda: False)

    def _await_first_answer(self) -> None:
        with api_client(self._url) as client:
            while not answers(client, "/livez"):
                if self._stop_asked.wait(LOOK_S):
                    return
                self._supervisor.watch_start()
