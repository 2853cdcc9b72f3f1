"""Requests as the talker inside vLLM sees them: slots that a token id names.

vLLM knows nothing of frames. It schedules a list of tokens for each request. Here every token of a request is the same
number: the request's slot in this arena. So ids and positions alone identify the request and the input of each row. The
input is a row of the prompt up to its end, afterwards the previous frame. No block table is read. All codes stay here
until the request is over, so vLLM's recomputation after a preemption gets the original inputs.

Rows carry their id and position through vLLM in two further columns. So only the rows that vLLM picks make frames.
The padding rows of a captured step, whose ids and positions are those of an earlier step, make none.

Slot 0 is that of no request. Its number also ends a request: a model that answers 0 has nothing more to say.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.cuda.talker.host_to_device import sent
from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.interface import CodecFrames, SamplingParams
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.vllm.captured_steps import CapturedSteps
from worker.engine.vllm.frames import FrameMaker

NO_SLOT = 0
END_ID = NO_SLOT

# As in the native engine on a CPU: fewer rows, and odd numbers of them, would be rounded in other ways.
_ROW_STEP = 4
# The integers whose bits an id and a position are carried as. Positions above 2^15 look negative in the narrow one.
_LABELS = {torch.float32: (torch.int32, -1), torch.bfloat16: (torch.int16, 0xFFFF)}


class Arena:
    """Slots 1 to `num_slots`. Single-threaded: belongs to the engine's loop, inside and outside of vLLM."""

    def __init__(self, frames: FrameMaker, spoken: FrameReports, prompts: Tensor) -> None:
        """prompts: (num_slots + 1, capacity, hidden), zeros for slot 0."""
        num_slots, self._capacity, device = prompts.shape[0] - 1, prompts.shape[1], prompts.device
        self._num_slots = num_slots
        self._frames = frames
        self.spoken = spoken
        self._prompts = prompts
        # Positions of the prompt, and of all that is known from the start, a prefix's frames among it.
        self._lengths = torch.ones(2, num_slots + 1, dtype=torch.int64, device=device)
        self._prompt_length, self._known_length = self._lengths.unbind()
        on_gpu = device.type == "cuda"
        self._captured = CapturedSteps(self._step, num_slots, prompts, NO_SLOT) if on_gpu else None

    def prepare(self) -> None:
        """On a GPU: the graphs."""
        if self._captured is not None:
            self._captured.capture_all()

    def admit(self, admissions: Sequence[SlotAdmission]) -> None:
        """The requests take their slots. Waits for nothing: a Python number set in a tensor would wait for the GPU."""
        self._frames.admit(admissions, self._prompts)
        for one in admissions:
            self.spoken.take(one.slot, one.request)
        lengths = [(one.request.prompt.num_rows, one.request.num_input_rows) for one in admissions]
        slots = sent(np.array([one.slot for one in admissions]), self._prompts.device)
        self._lengths[:, slots] = sent(np.array(lengths).T.copy(), self._prompts.device)

    def draw_for(self, requests: Iterable[SamplingParams]) -> None:
        """How all that have a slot are drawn from now on."""
        self._frames.draw_for(requests)

    # ------------------------------------------------------------------------------------------ inside vLLM

    def inputs(self, ids: Tensor, positions: Tensor) -> Tensor:
        """The talker's inputs: int64 (N,) both -> (N, hidden). Nothing depends on what they are but numbers."""
        known = self._prompts[ids, positions.clamp_max(self._capacity - 1)]
        frames = (positions - self._prompt_length[ids]).clamp(0, self._capacity - 1)
        is_known = positions < self._known_length[ids]
        return torch.where(is_known.unsqueeze(1), known, self._frames.inputs(ids, frames))

    def speak(self, hidden: Tensor, ids: Tensor, positions: Tensor) -> Tensor:
        """The next frame of each request whose last known input was run: hidden (B, hidden), others int64 (B,).

        Returns the next token of each: its slot's number, or `END_ID`. A row before the last known position of its
        request makes no frame: vLLM divides a prompt or recomputes it.
        """
        num_rows = ids.shape[0]
        if self._captured is not None:
            said = self._captured.run(hidden, ids, positions)
        else:
            padding = padded(num_rows) - num_rows
            said = self._step(
                *(F.pad(one, (0, 0) * (one.dim() - 1) + (0, padding)) for one in (hidden, ids, positions))
            )[:num_rows]
        self.spoken.report(said[:, 1:])
        return said[:, 0].long()

    def _step(self, hidden: Tensor, ids: Tensor, positions: Tensor) -> Tensor:
        """For as many rows as a step may have: int32 (B, Q + 3), the next token, the slot whose frame was made or 0,
        its codes, its status. Reads nothing back to the host, so it can be captured."""
        frames = self._frames
        is_due = positions == self._prompt_length[ids] - 1 + frames.frame[ids]
        is_due &= frames.status[ids] == int(RowEnd.RUNNING)
        slots = torch.where(is_due, ids, NO_SLOT)
        made = frames.make(hidden, slots)
        tokens = torch.where(frames.status[ids] == int(RowEnd.RUNNING), ids, END_ID)
        return torch.cat((tokens.unsqueeze(1), slots.unsqueeze(1), made), dim=1).int()

    def labelled(self, hidden: Tensor, ids: Tensor, positions: Tensor) -> Tensor:
        """hidden (N, hidden), others int64 (N,) -> (N, hidden + 2), from which `unlabelled` has them back."""
        label, _ = _LABELS[hidden.dtype]
        return torch.cat((hidden, torch.stack((ids, positions), dim=1).to(label).view(hidden.dtype)), dim=1)

    def unlabelled(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rows that never were labelled, as those of a trial run at start, are of no request."""
        label, mask = _LABELS[rows.dtype]
        ids, positions = (rows[:, -2:].contiguous().view(label).long() & mask).unbind(dim=1)
        ids = torch.where((ids > 0) & (ids <= self._num_slots), ids, NO_SLOT)
        return rows[:, :-2].contiguous(), ids, positions


def padded(num_rows: int) -> int:
    """Rows of a step that serves so many."""
    return -(-num_rows // _ROW_STEP) * _ROW_STEP


_SLOT, _STATUS = 0, -1


class FrameReports:
    """Single-threaded. Slot 0 is of no request."""

    def __init__(self, num_slots: int, capacity: int, num_codebooks: int) -> None:
        self._codes = np.zeros((num_slots + 1, capacity, num_codebooks), dtype=np.int16)
        self._num_frames = np.zeros(num_slots + 1, dtype=np.int64)
        self._ends = [RowEnd.EOS] * (num_slots + 1)
        self._first_report = np.zeros(num_slots + 1, dtype=np.int64)
        # Rows int (B, Q + 2), on the host once the event has happened.
        self._reports: deque[tuple[Tensor, torch.cuda.Event | None]] = deque()
        self._num_read = 0

    def take(self, slot: int, request: RequestState) -> None:
        """The slot's next owner. Steps that were launched before say nothing about it."""
        self._first_report[slot] = self._num_read + len(self._reports)
        self._num_frames[slot] = request.num_prefix
        self._ends[slot] = RowEnd.RUNNING
        if request.prefix is not None:
            self._codes[slot, : request.num_prefix] = request.prefix

    def report(self, rows: Tensor) -> None:
        """Of a step that was just launched, int (B, Q + 2): the slot whose frame it made or 0, its codes, its
        `RowEnd`."""
        if rows.device.type == "cpu":
            self._reports.append((rows, None))
            return
        host = torch.empty(rows.shape, dtype=rows.dtype, pin_memory=True)
        host.copy_(rows, non_blocking=True)
        copied = torch.cuda.Event()
        copied.record()
        self._reports.append((host, copied))

    def collect(self) -> int:
        """Reads the reports that are there; the number of new frames."""
        num_frames = 0
        while self._reports and ((copied := self._reports[0][1]) is None or copied.query()):
            rows = self._reports.popleft()[0].numpy()
            slots = rows[:, _SLOT]
            rows = rows[(slots != 0) & (self._first_report[slots] <= self._num_read)]
            self._num_read += 1
            is_frame = rows[:, _STATUS] == RowEnd.RUNNING
            for row in rows[~is_frame]:
                self._ends[row[_SLOT]] = RowEnd(int(row[_STATUS]))
            slots = rows[is_frame, _SLOT]
            self._codes[slots, self._num_frames[slots]] = rows[is_frame, 1:_STATUS]
            self._num_frames[slots] += 1
            num_frames += len(slots)
        return num_frames

    def count(self, slot: int) -> int:
        """Frames so far, those of the prefix among them."""
        return int(self._num_frames[slot])

    def end(self, slot: int) -> RowEnd:
        return self._ends[slot]

    def frames(self, slot: int, start: int) -> CodecFrames:
        """A copy of those from `start` on, (n, Q)."""
        return self._codes[slot, start : self._num_frames[slot]].copy()
