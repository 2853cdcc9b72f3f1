"""Two lanes over the same checkpoint: rows of the CPU engine, and slots as on a GPU but computed by plain torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from tests.worker.engine.cuda.eager_frames import EagerFrames
from tests.worker.engine.cuda.plain_operations import PlainOperations
from worker.engine.cpu.runner import StepRunner
from worker.engine.cpu.talker_lane import EagerTalkerLane, rows_for
from worker.engine.cuda.float8 import FLOAT8
from worker.engine.cuda.talker.capture_plan import capture_plan
from worker.engine.cuda.talker.lane import LaneShape, OpeningFrames, SlotTalkerLane
from worker.engine.cuda.talker.prefill.layers import PromptLayers
from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.cuda.talker.scheduler import SlotScheduler
from worker.engine.cuda.talker.talker import SlotTalker
from worker.engine.cuda.talker.weights import SpeechWeights
from worker.engine.interface import CodecFrames, SpeechRequest
from worker.engine.model.config import read_model_config
from worker.engine.profiles import AdmissionPolicy, EngineReproducibility
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.requests.text_tokenizer import TextTokenizer
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.serving.talker_lane import TalkerLane

SLOTS = 4
CAPACITY = 256
CPU = torch.device("cpu")
CHUNKS = ChunkPlan(first=1, most=4)


@dataclass(frozen=True)
class Outcome:
    """parts: what a streamed request handed on before its end."""

    frames: CodecFrames
    end: RowEnd
    parts: tuple[CodecFrames, ...] = ()


@dataclass(frozen=True)
class Arrival:
    """A request that is submitted before step `step` and, if asked, cancelled before step `cancel_step`."""

    request: SpeechRequest
    step: int = 0
    cancel_step: int | None = None
    is_streamed: bool = False


@dataclass(frozen=True, slots=True)
class EagerPrefill:
    talker: SlotTalker
    layers: PromptLayers

    def launch(self, admissions: Sequence[SlotAdmission], num_tokens: int, *, behind_frames: bool) -> None:
        self.talker.admit(admissions, num_tokens, self.layers)

    def join(self) -> None:
        """Everything is done when it is launched."""

    def extend(self, slot: int, start: int, ids: Sequence[int], max_frames: int) -> None:
        self.talker.extend(slot, start, ids, max_frames)


def no_news() -> bool:
    return False


class LaneRig:
    """One loaded checkpoint, with a new lane for every run."""

    def __init__(self, checkpoint: Path) -> None:
        self.config = read_model_config(checkpoint / "config.json")
        self.prompts = PromptBuilder(self.config, TextTokenizer.load(checkpoint, self.config.text_control))
        path = checkpoint / "model.safetensors"
        self._runner = StepRunner.load(path, self.config, rows_for(SLOTS, 0), CAPACITY, CPU)
        self._weights = SpeechWeights.load(path, self.config, CAPACITY, torch.float32, CPU)

    def row_lane(self) -> TalkerLane:
        return EagerTalkerLane(self._runner, SLOTS, 0, CHUNKS)

    def slot_lane(self, reproducibility: EngineReproducibility = EngineReproducibility.STRICT) -> SlotTalkerLane:
        return self._slot_lane(self._weights, torch.float32, reproducibility)

    def float8_lane(self) -> SlotTalkerLane:
        """Strict, its cache and its MLPs in eight bits."""
        return self._slot_lane(self._weights.with_float8_mlps(), FLOAT8, EngineReproducibility.STRICT)

    def _slot_lane(
        self, weights: SpeechWeights, cache_dtype: torch.dtype, reproducibility: EngineReproducibility
    ) -> SlotTalkerLane:
        pad_id = self.config.text_control.tts_pad
        plan = capture_plan(SLOTS, CAPACITY, reproducibility)
        openings = replace(plan, row_buckets=(1, 2))
        talker = SlotTalker(weights, SLOTS, CAPACITY, plan.max_rows, pad_id, cache_dtype)
        operations = PlainOperations(weights.num_codebooks, weights.codebook_size, CPU)
        layers = talker.eager_layers(operations)
        talker.warm_up(plan.token_buckets[0], layers)
        return SlotTalkerLane(
            EagerPrefill(talker, layers),
            EagerFrames(talker.step, plan, operations, SLOTS),
            SlotScheduler(SLOTS, 0, AdmissionPolicy(max_prefill_rows=64)),
            plan,
            LaneShape(SLOTS, CAPACITY, weights.num_codebooks),
            max_in_flight=3,
            chunks=CHUNKS,
            openings=OpeningFrames(EagerFrames(talker.frame_step(2), openings, operations, SLOTS), 2),
        )

    def run(self, lane: TalkerLane, arrivals: Sequence[Arrival]) -> Mapping[str, Outcome]:
        """What became of every request that was not cancelled in time."""
        states = {arrival.request.request_id: self._state(arrival) for arrival in arrivals}
        outcomes = dict[str, Outcome]()
        parts: dict[str, list[CodecFrames]] = {name: [] for name in states}
        step, last_arrival = 0, max(arrival.step for arrival in arrivals)
        while step <= last_arrival or lane.has_work:
            for arrival in arrivals:
                if arrival.step == step:
                    lane.add(states[arrival.request.request_id])
                if arrival.cancel_step == step:
                    lane.cancel(states[arrival.request.request_id])
            if lane.has_work:
                taken = lane.step(no_news)
                for part in taken.parts:
                    parts[part.request.request_id].append(part.frames)
                for ended in taken.ended:
                    name = ended.request.request_id
                    outcomes[name] = Outcome(ended.frames, ended.end, tuple(parts[name]))
            step += 1
        return outcomes

    def _state(self, arrival: Arrival) -> RequestState:
        request = arrival.request
        assert request.max_frames is not None
        return RequestState(
            request.request_id,
            self.prompts.build(request),
            request.sampling,
            request.seed,
            request.max_frames,
            urgency=request.urgency,
            is_streamed=arrival.is_streamed,
            prefix=request.prefix,
        )


@pytest.fixture(scope="session")
def open_rig() -> Callable[[Path], LaneRig]:
    return LaneRig


@pytest.fixture(scope="session")
def rigs(checkpoints: Mapping[str, Path]) -> Mapping[str, LaneRig]:
    return {variant: LaneRig(path) for variant, path in checkpoints.items()}


@pytest.fixture(scope="session")
def arrive() -> Callable[..., Arrival]:
    return Arrival
