"""Frames behind vLLM's layers: the native engine's kernels over its slots' state on a GPU, torch elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from worker.engine.cuda.slot_state import SlotState
from worker.engine.cuda.talker.decode.operations import Operations
from worker.engine.cuda.talker.frame_step import FrameStep, KvMemory
from worker.engine.cuda.talker.host_to_device import sent
from worker.engine.cuda.talker.prefill.pack import PackedPrompts, SlotAdmission, pack_prompts, pack_slots
from worker.engine.cuda.talker.prefill.prefill import PromptPass, frame_rows
from worker.engine.cuda.talker.weights import SpeechWeights
from worker.engine.interface import SamplingParams
from worker.engine.model.config import ModelConfig
from worker.engine.requests.request_state import RowEnd
from worker.engine.requests.row_state import FrameRows
from worker.engine.stages.code_predictor import CodePredictorStage
from worker.engine.stages.frame import FrameDraws, FrameStage
from worker.engine.stages.talker_embeddings import TalkerEnds


class PlainFrames:
    """The state of all slots; slot 0 is of no request. Single-threaded.

    frame: the one that each slot stands at; status: its `RowEnd`; integers (S,).
    """

    def __init__(
        self, config: ModelConfig, ends: TalkerEnds, predictor: CodePredictorStage, num_slots: int, capacity: int
    ) -> None:
        self._ends = ends
        self._rows = FrameRows(config, num_slots + 1, capacity, ends.dtype, ends.device)
        self._stage = FrameStage(config, ends, predictor, self._rows)
        self._codebook_size = config.predictor.codebook_size
        self._draws = FrameDraws.of((), self._codebook_size)
        self.status = torch.full((num_slots + 1,), int(RowEnd.EOS), dtype=torch.int64, device=ends.device)

    @property
    def frame(self) -> Tensor:
        return self._rows.frame

    def admit(self, admissions: Sequence[SlotAdmission], prompts: Tensor) -> None:
        """The requests take their slots. What is known of their inputs goes into `prompts`, (S, capacity, hidden)."""
        for slot, request in ((one.slot, one.request) for one in admissions):
            trailing = self._ends.trailing_rows(request.prompt)
            self._rows.set(slot, request, trailing)
            prompts[slot, : request.num_input_rows] = self._ends.input_rows(request, trailing)
            self.status[slot] = int(RowEnd.RUNNING)

    def draw_for(self, requests: Iterable[SamplingParams]) -> None:
        """How all that have a slot are drawn from now on."""
        self._draws = FrameDraws.of(requests, self._codebook_size)

    def make(self, hidden: Tensor, slots: Tensor) -> Tensor:
        """hidden (B, hidden), slots int64 (B,) -> int (B, Q + 1): the frame that each slot stands at, and its status.

        The slots move on. Nothing is read back to the host."""
        counts = torch.ones_like(slots, dtype=torch.bool)
        made = self._stage.make(hidden, slots, self._draws, counts)
        self.status[slots] = made.status
        self._rows.frame[0].zero_()
        self.status[0].fill_(int(RowEnd.EOS))
        return torch.cat((made.codes, made.status.unsqueeze(1)), dim=1)

    def inputs(self, slots: Tensor, frames: Tensor) -> Tensor:
        """The talker's inputs that frames made before become: int64 (N,) both -> (N, hidden)."""
        return self._ends.frame_rows(self._rows.codes_of(slots, frames)) + self._rows.text_rows(slots, frames)


class SlotFrames:
    """As `PlainFrames`, over the native engine's slots, where it also stands how each is drawn. Waits for nothing."""

    def __init__(
        self,
        weights: SpeechWeights,
        operations_for: Callable[[int], Operations],
        num_slots: int,
        capacity: int,
        pad_id: int,
    ) -> None:
        """weights: without the talker's layers. operations_for: by the rows of a step. pad_id: the text id behind a
        request's text."""
        hidden_size, device = weights.codec_table.shape[1], weights.device
        self._weights = weights
        self._operations_for = operations_for
        self._capacity = capacity
        self._pad_id = pad_id
        # Slot 0 has ended from the start, as the scratch slot, which is not used, has.
        self._state = SlotState.allocate(num_slots, capacity, weights.codebook_size, hidden_size, weights.dtype, device)
        nothing = torch.empty(0, dtype=weights.dtype, device=device)
        memory = KvMemory(nothing, nothing)
        self._step = FrameStep(weights.talker, weights.predictor, weights.tables, self._state, memory, num_slots)
        self._pass = PromptPass(weights.codec_table, weights.tables, self._state)
        self._codes = torch.zeros((num_slots + 1) * capacity, weights.num_codebooks, dtype=torch.int16, device=device)

    @property
    def frame(self) -> Tensor:
        return self._state.frame

    @property
    def status(self) -> Tensor:
        return self._state.status

    def admit(self, admissions: Sequence[SlotAdmission], prompts: Tensor) -> None:
        num_tokens = sum(one.prefill_rows for one in admissions)
        packed = pack_prompts(admissions, num_tokens, 0, self._pad_id)
        self._pass.run(packed, _Kept(prompts))
        self._pass.set_slots(pack_slots(admissions, self._weights.codebook_size, self._pad_id))
        slots = sent(packed.slots, prompts.device).long()
        last = sent(packed.starts[1:] - packed.starts[:-1], prompts.device).long()
        prompts[slots, last] = self._state.next_input[slots]
        for slot, request in ((one.slot, one.request) for one in admissions):
            if request.prefix is not None:
                start = slot * self._capacity
                prefix = sent(request.prefix.astype("int32"), prompts.device)
                self._codes[start : start + request.num_prefix] = prefix.to(torch.int16)

    def draw_for(self, requests: Iterable[SamplingParams]) -> None:
        """Nothing to choose."""

    def make(self, hidden: Tensor, slots: Tensor) -> Tensor:
        frames = self._state.frame[slots].clamp_max(self._capacity - 1)
        packet = self._step.speak(hidden, slots.int(), self._operations_for(slots.shape[0]))
        self._codes.index_copy_(0, slots * self._capacity + frames, packet[:, :-1])
        return packet

    def inputs(self, slots: Tensor, frames: Tensor) -> Tensor:
        codes = self._codes.index_select(0, slots * self._capacity + frames).long()
        state, tables = self._state, self._weights.tables
        ids = state.trailing_ids[slots, torch.minimum(frames, state.trailing_length[slots])]
        return (frame_rows(codes, tables) + tables.text[ids].float()).to(tables.text.dtype)


FrameMaker = PlainFrames | SlotFrames


class _Kept:
    """Prompts that wait in a table for the layers: `PromptLayers`."""

    def __init__(self, prompts: Tensor) -> None:
        self._prompts = prompts

    def run(self, inputs: Tensor, prompts: PackedPrompts) -> None:
        slots, positions = (
            sent(places, inputs.device).long() for places in (prompts.token_slots, prompts.token_positions)
        )
        self._prompts[slots, positions] = inputs
