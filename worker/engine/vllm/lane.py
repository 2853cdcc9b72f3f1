"""The talker's lane over vLLM: which request gets a slot is decided here, what runs in a step is vLLM's business."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.errors import EngineError
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.serving.admission_queue import AdmissionPace
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.serving.slot_queue import SlotQueue
from worker.engine.serving.talker_lane import EndedSpeech, LaneStep, MoreText, SpeechPart, is_part_due
from worker.engine.vllm.arena import END_ID, Arena
from worker.engine.vllm.internals import StockEngine


@dataclass(frozen=True, slots=True)
class _Running:
    """`name`: the request's in vLLM. No two submissions share one, for what was aborted may linger there."""

    request: RequestState
    slot: int
    name: str


class VllmTalkerLane:
    """`TalkerLane` over an unpatched vLLM in this process.

    vLLM gets no more requests than it has slots for, so none waits in its queue: whose turn it is, is decided by the
    queue of every engine. What it gets it runs first come, first served, long prompts piece by piece between the
    frames of others.
    """

    def __init__(
        self,
        engine: StockEngine,
        arena: Arena,
        slots: SlotQueue,
        num_slots: int,
        chunks: ChunkPlan,
        pace: AdmissionPace,
    ) -> None:
        """num_slots: the arena's, as many as `slots` gives away."""
        self._engine = engine
        self._arena = arena
        self._slots = slots
        self._chunks = chunks
        self._pace = pace
        self._free_slots = list(range(num_slots, 0, -1))
        self._running: dict[str, _Running] = {}
        self._admitted = 0

    @property
    def has_work(self) -> bool:
        return bool(self._slots.num_running or self._slots.peek())

    @property
    def num_standing(self) -> int:
        return 0

    def add(self, request: RequestState) -> None:
        self._slots.add(request)

    def extend(self, more: MoreText) -> None:
        raise NotImplementedError("vLLM's scheduler lets no request stand still: the engine takes no open text")

    def cancel(self, request: RequestState) -> None:
        self._slots.leave(request)
        for one in self._running.values():
            if one.request is request:
                self._engine.abort(one.name)
                self._leave(one)
                return

    def step(self, has_news: Callable[[], bool]) -> LaneStep:
        admitted = self._admit()
        if not self._running:
            return LaneStep(admitted, (), (), 0)
        over = self._engine.step()
        spoken = self._arena.spoken
        num_frames = spoken.collect()
        for one in self._running.values():
            one.request.frames = spoken.count(one.slot)
        ended = tuple(self._end(self._running[name]) for name in over)
        parts = tuple(self._part(one) for one in self._running.values() if is_part_due(one.request, self._chunks))
        return LaneStep(admitted, parts, ended, num_frames)

    def _end(self, one: _Running) -> EndedSpeech:
        end = self._arena.spoken.end(one.slot)
        if end is RowEnd.RUNNING:
            raise EngineError("vLLM ended a request that the talker says is running")
        self._leave(one)
        return EndedSpeech(one.request, end, self._arena.spoken.frames(one.slot, one.request.num_prefix))

    def _admit(self) -> tuple[RequestState, ...]:
        possible = min(len(self._free_slots), self._slots.num_waiting) if self._slots.peek() else 0
        if not self._pace.is_time(possible, len(self._running), is_awaited=self._slots.is_awaited):
            return ()
        admitted: list[SlotAdmission] = []
        while (request := self._slots.peek()) is not None:
            self._slots.take()
            admitted.append(SlotAdmission(self._free_slots.pop(), request))
        self._arena.admit(admitted)
        for slot, request in ((one.slot, one.request) for one in admitted):
            self._admitted += 1
            one = _Running(request, slot, str(self._admitted))
            self._running[one.name] = one
            # The token that says the end comes on top of the frames.
            max_tokens = request.max_frames - request.num_prefix + 1
            self._engine.add(one.name, [slot] * request.num_input_rows, max_tokens, END_ID)
        self._choose_draws()
        return tuple(one.request for one in admitted)

    def _leave(self, one: _Running) -> None:
        del self._running[one.name]
        self._free_slots.append(one.slot)
        self._slots.leave(one.request)
        self._choose_draws()

    def _choose_draws(self) -> None:
        self._arena.draw_for(one.request.sampling for one in self._running.values())

    def _part(self, one: _Running) -> SpeechPart:
        frames = self._arena.spoken.frames(one.slot, one.request.handed_on)
        one.request.handed_on = one.request.frames
        return SpeechPart(one.request, frames)
