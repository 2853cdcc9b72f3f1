"""Executes one step plan on the device: prompts in, rows moved, one frame for every running row.

All state of a request in the batch is one row of the tensors here. The frame step is a function of those tensors, with
a fixed shape for a given number of rows. It reads back only one status per row, at its end.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from worker.engine.cpu.scheduler import Admission, Move, StepPlan
from worker.engine.cpu.talker_stage import TalkerStage
from worker.engine.interface import CodecFrames
from worker.engine.model.config import ModelConfig
from worker.engine.model.speech_modules import load_modules
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.requests.row_state import FrameRows
from worker.engine.stages.code_predictor import CodePredictorStage
from worker.engine.stages.frame import FrameDraws, FrameStage
from worker.engine.stages.talker_embeddings import TalkerEnds

# The shapes of a frame step are whole multiples of these; what is too much are padding rows and masked positions.
# Matrix products and attention then round each row equally, whatever the other rows. This was measured bit for bit on
# the CPU (1 to 16 rows, 1 and 2 threads). Fewer than four rows and odd lengths take other kernels. Where that is not
# enough, `serving/rounding.py` is. The code predictor's attention is over as many positions as there are, and holds
# that on one thread alone: on several, odd lengths from nine on round by the thread that has the row (torch 2.13.0).
_ROW_STEP = 4
LENGTH_STEP = 16


class StepRunner:
    """Single-threaded: belongs to the engine's loop. Mutates device rows, never a request.

    Rows beyond the running ones, up to the next multiple of the row step, take part as padding: they make frames of
    whatever stands in them, which is not read.
    """

    def __init__(
        self,
        config: ModelConfig,
        talker: TalkerStage,
        ends: TalkerEnds,
        predictor: CodePredictorStage,
        num_rows: int,
    ) -> None:
        self.talker = talker
        self.ends = ends
        self._codebook_size = config.predictor.codebook_size
        self._rows = FrameRows(config, num_rows, talker.cache.capacity, ends.dtype, ends.device)
        self._frame = FrameStage(config, ends, predictor, self._rows)
        self._order = torch.arange(num_rows, device=ends.device)
        self._position = torch.zeros_like(self._order)
        self._next_input = torch.zeros(num_rows, ends.hidden_size, device=ends.device)

    @classmethod
    @torch.inference_mode()
    def load(cls, path: Path, config: ModelConfig, num_rows: int, capacity: int, device: torch.device) -> StepRunner:
        """From the main `model.safetensors`. Raises CheckpointError naming tensors that are not as published.

        num_rows: how many requests can run; capacity: positions of each, a multiple of `LENGTH_STEP`.
        """
        num_rows = _round_up(num_rows, _ROW_STEP)
        talker, predictor = load_modules(path, config, torch.float32, device)
        first_table = talker.model.codec_embedding.weight[: config.predictor.codebook_size]
        return cls(
            config,
            TalkerStage(config.talker.transformer, talker, num_rows, capacity),
            TalkerEnds(config, talker, predictor.residual_embeddings),
            CodePredictorStage(config.predictor, predictor, first_table, num_rows),
            num_rows,
        )

    @torch.inference_mode()
    def run(self, plan: StepPlan) -> tuple[RowEnd, ...]:
        """What the step did to each row of `plan.rows`, in their order; rows that skip their turn are as they were."""
        for move in plan.moves:
            self._move(move)
        for admission in plan.admissions:
            self._admit(admission)
        statuses = self._frame_step(plan).tolist()[: plan.num_stepped]
        ends = tuple(RowEnd(status) for status in statuses + [RowEnd.RUNNING] * (len(plan.rows) - len(statuses)))
        for row, end in enumerate(ends):
            if end is RowEnd.NON_FINITE:
                self._scrub(row)
        return ends

    def frames(self, row: int, num_frames: int) -> CodecFrames:
        """A copy of the row's first frames, (num_frames, Q). To be taken before the next plan runs."""
        return self._rows.frames(row, num_frames)

    @torch.inference_mode()
    def extend(self, row: int, request: RequestState, start: int) -> None:
        """The request has got more text, beside frame `start` and those after it."""
        self._rows.extend(row, start, self.ends.trailing_rows(request.prompt)[start:], request.max_frames)

    def _admit(self, admission: Admission) -> None:
        """Prefill all but the last input row: that one is the first input of the frame step."""
        row, request = admission.row, admission.request
        trailing = self.ends.trailing_rows(request.prompt)
        prompt = self.ends.input_rows(request, trailing)
        if prompt.shape[0] > 1:
            self.talker.prefill(row, prompt[:-1])
        self._rows.set(row, request, trailing)
        self._position[row] = prompt.shape[0] - 1
        self._next_input[row] = prompt[-1]

    def _move(self, move: Move) -> None:
        self.talker.cache.move(move.source, move.target, move.length)
        self._rows.move(move.source, move.target)
        self._position[move.target] = self._position[move.source]
        self._next_input[move.target] = self._next_input[move.source]

    def _scrub(self, row: int) -> None:
        self.talker.cache.scrub(row)
        self._next_input[row] = 0

    def _rewind(self, start: int, end: int) -> None:
        """Send padding rows back to position 0, lest they run past the end of theirs."""
        self._position[start:end] = 0
        self._rows.frame[start:end] = 0

    def _frame_step(self, plan: StepPlan) -> Tensor:
        """One frame for the first B rows, padding included: int64 (B,) of `RowEnd` values."""
        num_rows = _round_up(plan.num_stepped, _ROW_STEP)
        length = _round_up(plan.attention_length, LENGTH_STEP)
        # Rows that skip their turn may be padding: they make no frame, and what is written at theirs is written again.
        self._rewind(len(plan.rows), max(num_rows, len(plan.rows)))
        rows, position = self._order[:num_rows], self._position[:num_rows]
        frame = self._rows.frame[rows]
        draws = FrameDraws.of((request.sampling for request in plan.stepped), self._codebook_size)

        hidden = self.talker.decode(self._next_input[:num_rows], position, length)
        counts = torch.ones(num_rows, dtype=torch.bool, device=rows.device)
        speaks = plan.speaks[:num_rows]
        counts[: len(speaks)] = torch.tensor(speaks, device=rows.device)
        made = self._frame.make(hidden, rows, draws, counts)

        inputs = self.ends.frame_rows(made.codes) + self._rows.text_rows(rows, frame)
        self._next_input[:num_rows] = torch.where(counts[:, None], inputs, self._next_input[:num_rows])
        position += counts
        return made.status


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step
