"""One post-processor process, seen from the worker: its channels, and its end."""

from __future__ import annotations

from collections.abc import Mapping

from worker.process.children.program import reap, start_program
from worker.speech.postprocessing.process import READY
from worker.speech.postprocessing.protocol import RELEASE

START_PATIENCE_S = 60
"""From starting the process to its readiness. It takes half a second where nothing else does."""

PATIENCE_S = 150
"""For a call. An object store that answers at its very last moment takes 92 s: four tries of 23 s."""


class PostProcessorUnusable(Exception):
    """A post-processor said why it cannot start."""


class PostProcessorProcess:
    """A process and its channels. Only `end` may be called while others use them.

    idle: the channels that are not borrowed; a borrower closes its channel if the process has ended meanwhile.
    """

    def __init__(self, num_channels: int, environment: Mapping[str, str], worker: str) -> None:
        """Returns at once; the process is of use after `wait_ready`.

        In a thread that outlives it: on Linux the kernel kills the process when the starting thread ends.
        """
        self._process, (self._lifeline, *self.idle) = start_program(
            "worker.speech.postprocessing.process",
            worker,
            num_channels=1 + num_channels,
            # It has many threads already: more threads for linear algebra would only slow it down.
            environment={**environment, "OPENBLAS_NUM_THREADS": "1"},
        )
        self._lifeline.set_patience(START_PATIENCE_S)
        for channel in self.idle:
            channel.set_patience(PATIENCE_S)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def wait_ready(self) -> None:
        """Raises `PostProcessorUnusable` with what it says, or `OSError` if it ends, says nothing, or is of
        another release."""
        self._lifeline.meet(RELEASE)
        said = self._lifeline.receive()
        if said != READY:
            raise PostProcessorUnusable(str(said))

    def end(self) -> None:
        """Kill it; calls under way fail, and their channels are closed by who has borrowed them."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        """Hang up, and wait until it has gone."""
        self._lifeline.close()
        for channel in self.idle:
            channel.close()
        reap(self._process)
