"""The talker side without codec and threads: scheduler and runner driven by hand, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from worker.engine.cpu.runner import StepRunner
from worker.engine.cpu.scheduler import Scheduler
from worker.engine.interface import CodecFrames, SpeechRequest
from worker.engine.model.config import read_model_config
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.requests.text_tokenizer import TextTokenizer

SLOTS = 4
CAPACITY = 256
MAX_PREFILL_ROWS = 64


@dataclass(frozen=True)
class Outcome:
    frames: CodecFrames
    end: RowEnd


@dataclass(frozen=True)
class Arrival:
    """A request that is submitted before step `step` and, if asked, cancelled before step `cancel_step`."""

    request: SpeechRequest
    step: int = 0
    cancel_step: int | None = None


class TalkerRig:
    """One loaded checkpoint; every `run` has a scheduler of its own over the same rows."""

    def __init__(self, checkpoint: Path) -> None:
        self.config = read_model_config(checkpoint / "config.json")
        self.prompts = PromptBuilder(self.config, TextTokenizer.load(checkpoint, self.config.text_control))
        self.runner = StepRunner.load(
            checkpoint / "model.safetensors", self.config, SLOTS, CAPACITY, torch.device("cpu")
        )

    def run(self, arrivals: Sequence[Arrival]) -> Mapping[str, Outcome]:
        """What became of every request that was not cancelled in time."""
        scheduler, outcomes = Scheduler(SLOTS, 0, 0, MAX_PREFILL_ROWS), dict[str, Outcome]()
        states = {arrival.request.request_id: self._state(arrival.request) for arrival in arrivals}
        step, last_arrival = 0, max(arrival.step for arrival in arrivals)
        while True:
            for arrival in arrivals:
                if arrival.step == step:
                    scheduler.add(states[arrival.request.request_id])
                if arrival.cancel_step == step:
                    scheduler.cancel(states[arrival.request.request_id])
            plan = scheduler.plan(0.0)
            if plan is None and step > last_arrival:
                return outcomes
            if plan is not None:
                for ended in scheduler.commit(plan, self.runner.run(plan)):
                    frames = self.runner.frames(ended.row, ended.request.frames)
                    outcomes[ended.request.request_id] = Outcome(frames, ended.end)
            step += 1

    def run_alone(self, requests: Iterable[SpeechRequest]) -> Mapping[str, Outcome]:
        return {request.request_id: self.run([Arrival(request)])[request.request_id] for request in requests}

    def _state(self, request: SpeechRequest) -> RequestState:
        assert request.max_frames is not None
        prompt = self.prompts.build(request)
        return RequestState(request.request_id, prompt, request.sampling, request.seed, request.max_frames)


@pytest.fixture(scope="session")
def rigs(checkpoints: Mapping[str, Path]) -> Mapping[str, TalkerRig]:
    """One per recorded checkpoint."""
    return {variant: TalkerRig(path) for variant, path in checkpoints.items()}


@pytest.fixture(scope="session")
def open_rig() -> Callable[[Path], TalkerRig]:
    return TalkerRig


@pytest.fixture(scope="session")
def arrive() -> Callable[..., Arrival]:
    return Arrival
