"""An engine that goes wrong now and then, as real ones do, and remembers how often."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future

import numpy as np

from tests.worker.speech.quality.defects import Spoil
from worker.engine.fake import FakeEngine
from worker.engine.interface import OnAudio, Speech, SpeechRequest
from worker.engine.settings import FakeEngineSettings


class FaultyEngine(FakeEngine):
    """The fake engine, whose speech is spoiled in a share of the requests; which ones, the request's seed decides."""

    def __init__(self, spoils: Mapping[str, Spoil], share: float) -> None:
        super().__init__(FakeEngineSettings(slots=4, step_s=0.0))
        self._spoils = spoils
        self._share = share
        self._lock = threading.Lock()
        self.requests: list[SpeechRequest] = []
        self.injected: list[str] = []

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        with self._lock:
            self.requests.append(request)
        good = super().submit(request, on_audio)
        dice = random.Random(request.seed)
        if dice.random() >= self._share:
            return good
        name = dice.choice(sorted(self._spoils))
        with self._lock:
            self.injected.append(name)
        return _mapped(good, lambda speech: self._spoils[name](speech, np.random.default_rng(request.seed)))


def _mapped(future: Future[Speech], change: Callable[[Speech], Speech]) -> Future[Speech]:
    changed: Future[Speech] = Future()

    def pass_on(done: Future[Speech]) -> None:
        error = done.exception()
        if error is not None:
            changed.set_exception(error)
        else:
            changed.set_result(change(done.result()))

    future.add_done_callback(pass_on)
    return changed
