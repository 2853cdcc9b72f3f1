"""One frame for each row whose talker has just run: codebook 0 drawn, the code predictor, and whether it goes on.

The same on every engine: who runs the talker's layers hands its hidden states in here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from worker.engine.interface import SamplingParams
from worker.engine.model.config import ModelConfig
from worker.engine.requests.request_state import RowEnd
from worker.engine.requests.row_state import FrameRows
from worker.engine.requests.sampling import MIN_FRAMES, Argmax, Draw, NoiseTable, draw_for, penalise_repetition, sample
from worker.engine.stages.code_predictor import CodePredictorStage
from worker.engine.stages.talker_embeddings import TalkerEnds


@dataclass(frozen=True, slots=True)
class FrameDraws:
    """The cheapest computations that serve every row of a step."""

    talker: Draw
    predictor: Draw

    @classmethod
    def of(cls, requests: Iterable[SamplingParams], codebook_size: int) -> FrameDraws:
        requests = tuple(requests)
        return cls(
            draw_for((request.talker for request in requests), codebook_size + 1),
            draw_for((request.predictor for request in requests), codebook_size),
        )

    @property
    def needs_noise(self) -> bool:
        return not (isinstance(self.talker, Argmax) and isinstance(self.predictor, Argmax))


@dataclass(frozen=True, slots=True)
class MadeFrames:
    """codes: int64 (B, Q); status: int64 (B,) of `RowEnd` values. Of a row that has ended, the codes are no speech."""

    codes: Tensor
    status: Tensor


class FrameStage:
    """Single-threaded."""

    def __init__(self, config: ModelConfig, ends: TalkerEnds, predictor: CodePredictorStage, rows: FrameRows) -> None:
        self._ends = ends
        self._predictor = predictor
        self._rows = rows
        self._codebook_size = config.predictor.codebook_size
        num_residual = config.talker.num_codebooks - 1
        self._noise = NoiseTable((self._codebook_size + 1, *[self._codebook_size] * num_residual), ends.device)

    def make(self, hidden: Tensor, rows: Tensor, draws: FrameDraws, counts: Tensor) -> MadeFrames:
        """hidden (B, hidden), rows int64 (B,): the frame that each row stands at is made and kept, and it moves on.

        counts: bool (B,); a row for which it is False stays as it is, and its status says RUNNING.
        """
        state, frame = self._rows, self._rows.frame[rows]
        noise = self._frame_noise(rows, frame, draws)
        lane, first_score = self._draw_first(self._ends.logits(hidden), rows, frame, noise[0], draws.talker)
        # A row whose speech has ended goes on with some code to the end of the step, and is not looked at.
        first = lane.clamp_max(self._codebook_size - 1)
        sampling = state.predictor_sampling.at(rows)
        codes, scores = self._predictor.complete(hidden, first, noise[1:], sampling, draws.predictor)

        healthy = first_score.isfinite() & scores.isfinite().all(dim=1)
        status = torch.where(frame >= state.max_frames[rows], int(RowEnd.LENGTH), int(RowEnd.RUNNING))
        status.masked_fill_(lane == self._codebook_size, int(RowEnd.EOS))
        status.masked_fill_(~healthy, int(RowEnd.NON_FINITE))

        status.masked_fill_(~counts, int(RowEnd.RUNNING))

        state.keep_frame(rows, frame, codes, counts)
        state.frame[rows] = frame + counts
        return MadeFrames(codes, status)

    def _draw_first(
        self, logits: Tensor, rows: Tensor, frame: Tensor, noise: Tensor, draw: Draw
    ) -> tuple[Tensor, Tensor]:
        """Codebook 0, or the lane above it for the end of speech: lanes int64 (B,), winning scores (B,)."""
        logits = penalise_repetition(logits, self._rows.present[rows], self._rows.penalty[rows])
        logits[:, -1].masked_fill_(frame < MIN_FRAMES, -torch.inf)
        return sample(logits, noise, self._rows.talker_sampling.at(rows), draw)

    def _frame_noise(self, rows: Tensor, frame: Tensor, draws: FrameDraws) -> Sequence[Tensor]:
        if draws.needs_noise:
            return self._noise.at(self._rows.seed[rows], frame)
        nothing = torch.empty(rows.shape[0], 0, device=rows.device)
        return [nothing] * len(self._noise.vocab_sizes)
