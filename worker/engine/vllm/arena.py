"""Requests as the talker inside vLLM sees them: slots that a token id names.

vLLM knows nothing of frames. It schedules a list of tokens for each request. Here every token of a request is the same
number: the request's slot in this arena. So ids and positions alone identify the request and the input of each row. The
input is a row of the prompt up to its end, afterwards the previous frame. No block table is read. All codes stay here
until the request is over, so vLLM's recomputation after a preemption gets the original inputs.

Slot 0 is that of no request. Its number also ends a request: a model that answers 0 has nothing more to say.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.interface import CodecFrames, SamplingParams
from worker.engine.model.config import ModelConfig
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.requests.row_state import FrameRows
from worker.engine.stages.code_predictor import CodePredictorStage
from worker.engine.stages.frame import FrameDraws, FrameStage
from worker.engine.stages.talker_embeddings import TalkerEnds
from worker.engine.vllm.captured_steps import CapturedSteps

NO_SLOT = 0
END_ID = NO_SLOT

# As in the native engine on a CPU: fewer rows, and odd numbers of them, would be rounded in other ways.
_ROW_STEP = 4


class Arena:
    """Slots 1 to `num_slots`. Single-threaded: belongs to the engine's loop, inside and outside of vLLM."""

    def __init__(
        self, config: ModelConfig, ends: TalkerEnds, predictor: CodePredictorStage, num_slots: int, capacity: int
    ) -> None:
        """predictor: for a step of `padded` so many rows. capacity: positions of each."""
        device, self._capacity = ends.device, capacity
        self._ends = ends
        self._slots = FrameRows(config, num_slots + 1, capacity, ends.dtype, device)
        self._frame = FrameStage(config, ends, predictor, self._slots)
        self._codebook_size = config.predictor.codebook_size
        # Not written before a prompt comes, so that a CPU has memory only for the prompts that do.
        self._prompts = torch.empty(num_slots + 1, capacity, ends.hidden_size, dtype=ends.dtype, device=device)
        self._prompts[NO_SLOT] = 0
        self._prompt_length = torch.ones(num_slots + 1, dtype=torch.int64, device=device)
        self._status = torch.full((num_slots + 1,), int(RowEnd.EOS), dtype=torch.int64, device=device)
        self._draws = FrameDraws.of((), self._codebook_size)
        on_gpu = device.type == "cuda"
        self._captured = CapturedSteps(self._step, padded(num_slots), self._prompts, NO_SLOT) if on_gpu else None

    def prepare(self, sampling: SamplingParams) -> None:
        """On a GPU: the graphs of steps whose rows are all drawn so."""
        if self._captured is not None:
            self._captured.capture_all(FrameDraws.of((sampling,), self._codebook_size))

    def admit(self, slot: int, request: RequestState) -> int:
        """The request takes the slot; how many inputs of it are known, the frames of its prefix among them."""
        prompt = self._ends.prompt_rows(request.prompt)
        self._slots.set(slot, request, self._ends.trailing_rows(request.prompt))
        self._prompts[slot, : prompt.shape[0]] = prompt
        self._prompt_length[slot] = prompt.shape[0]
        self._status[slot] = int(RowEnd.RUNNING)
        return prompt.shape[0] + request.num_prefix

    def draw_for(self, requests: Iterable[SamplingParams]) -> None:
        """How all that have a slot are drawn from now on."""
        self._draws = FrameDraws.of(requests, self._codebook_size)

    def progress(self) -> tuple[list[int], list[RowEnd]]:
        """Of every slot: the frames it has spoken, and how it stands."""
        status = self._status.tolist()
        # The step that finds the end makes a frame that is none.
        spoken = (self._slots.frame - (self._status != int(RowEnd.RUNNING)).long()).tolist()
        return spoken, [RowEnd(one) for one in status]

    def frames(self, slot: int, num_frames: int) -> CodecFrames:
        return self._slots.frames(slot, num_frames)

    # ------------------------------------------------------------------------------------------ inside vLLM

    def inputs(self, ids: Tensor, positions: Tensor) -> Tensor:
        """The talker's inputs: int64 (N,) both -> (N, hidden)."""
        in_prompt = positions < self._prompt_length[ids]
        inputs = self._prompts[ids, positions.clamp_max(self._capacity - 1)]
        spoken = (~in_prompt).nonzero()[:, 0]
        if spoken.shape[0]:
            slots = ids[spoken]
            frames = (positions[spoken] - self._prompt_length[slots]).clamp_max(self._capacity - 1)
            codes = self._slots.codes_of(slots, frames)
            inputs[spoken] = self._ends.frame_rows(codes) + self._slots.text_rows(slots, frames)
        return inputs

    def speak(self, hidden: Tensor, ids: Tensor, positions: Tensor) -> Tensor:
        """The next frame of each request whose last known input was run: hidden (B, hidden), others int64 (B,).

        Returns the next token of each: its slot's number, or `END_ID`. A row before the last known position of its
        request makes no frame: vLLM divides a prompt or recomputes it.
        """
        if self._captured is not None:
            return self._captured.run(hidden, ids, positions, self._draws)
        num_rows = ids.shape[0]
        padding = padded(num_rows) - num_rows
        hidden, ids, positions = (
            F.pad(one, (0, 0) * (one.dim() - 1) + (0, padding)) for one in (hidden, ids, positions)
        )
        return self._step(hidden, ids, positions, self._draws)[:num_rows]

    def _step(self, hidden: Tensor, ids: Tensor, positions: Tensor, draws: FrameDraws) -> Tensor:
        """`speak` for as many rows as a step may have. Reads nothing back to the host, so it can be captured."""
        is_due = positions == self._prompt_length[ids] - 1 + self._slots.frame[ids]
        is_due &= self._status[ids] == int(RowEnd.RUNNING)
        slots = torch.where(is_due, ids, NO_SLOT)
        made = self._frame.make(hidden, slots, draws, torch.ones_like(is_due), slots.shape[0])
        self._status[slots] = made.status
        self._slots.frame[NO_SLOT].zero_()
        self._status[NO_SLOT].fill_(int(RowEnd.EOS))
        return torch.where(self._status[ids] == int(RowEnd.RUNNING), ids, END_ID)


def padded(num_rows: int) -> int:
    """Rows of a step that serves so many."""
    return -(-num_rows // _ROW_STEP) * _ROW_STEP
