"""Executes one step plan on the device: prompts in, rows moved, one frame for every running row.

All state of a request in the batch is one row of the tensors here. The frame step is a function of those tensors
with a fixed shape for a given number of rows; the only thing it reads back is one status per row, at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from worker.engine.errors import CheckpointError
from worker.engine.interface import CodecFrames
from worker.engine.native.model.code_predictor import CodePredictor
from worker.engine.native.model.config import ModelConfig
from worker.engine.native.model.talker import Talker
from worker.engine.native.model.weights import read_tensors, tensors_under
from worker.engine.native.request_state import RequestState, RowEnd
from worker.engine.native.sampling import (
    MIN_FRAMES,
    Argmax,
    Draw,
    NoiseTable,
    RowSampling,
    draw_for,
    penalise_repetition,
    sample,
)
from worker.engine.native.scheduler import Admission, Move, StepPlan
from worker.engine.native.stages.code_predictor import CodePredictorStage
from worker.engine.native.stages.talker import TalkerStage

# The shapes of a frame step are whole multiples of these; what is too much are padding rows and masked positions.
# Matrix products and attention then round each row in the same way whoever else is there: measured bit for bit on
# the CPU (1 to 16 rows, 1 and 2 threads), where fewer than four rows and odd lengths take other kernels.
_ROW_STEP = 4
LENGTH_STEP = 16

_TALKER, _PREDICTOR_IN_TALKER, _SPEAKER_ENCODER = "talker.", "code_predictor.", "speaker_encoder."


class StepRunner:
    """Single-threaded: belongs to the engine's loop. Mutates device rows, never a request.

    Rows beyond the running ones, up to the next multiple of the row step, take part as padding: they make frames of
    whatever stands in them, which nobody reads.
    """

    def __init__(self, config: ModelConfig, talker: TalkerStage, predictor: CodePredictorStage, num_rows: int) -> None:
        self.talker = talker
        self._predictor = predictor
        self._codebook_size = config.predictor.codebook_size
        self._noise = NoiseTable(
            (self._codebook_size + 1, *[self._codebook_size] * (config.talker.num_codebooks - 1)), talker.device
        )
        self._rows = _Rows(config, num_rows, talker.cache.capacity, talker.device)

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
            TalkerStage(config, talker, predictor.residual_embeddings, num_rows, capacity),
            CodePredictorStage(config.predictor, predictor, first_table, num_rows),
            num_rows,
        )

    @torch.inference_mode()
    def run(self, plan: StepPlan) -> tuple[RowEnd, ...]:
        """What the step did to each row of `plan.rows`, in their order."""
        for admission in plan.admissions:
            self._admit(admission)
        for move in plan.moves:
            self._move(move)
        statuses = self._frame_step(plan).tolist()
        ends = tuple(RowEnd(status) for status in statuses[: len(plan.rows)])
        for row, end in enumerate(ends):
            if end is RowEnd.NON_FINITE:
                self._scrub(row)
        return ends

    def frames(self, row: int, num_frames: int) -> CodecFrames:
        """A copy of the row's first frames, (num_frames, Q). To be taken before the next plan runs."""
        return self._rows.codes[row, :num_frames].cpu().numpy().copy()

    def _admit(self, admission: Admission) -> None:
        """Prefill all but the last prompt row: that one is the first input of the frame step."""
        prompt = self.talker.prompt_rows(admission.request.prompt)
        if prompt.shape[0] > 1:
            self.talker.prefill(admission.row, prompt[:-1])
        trailing = self.talker.trailing_rows(admission.request.prompt)
        self._rows.set(admission.row, admission.request, prompt, trailing)

    def _move(self, move: Move) -> None:
        self.talker.cache.move(move.source, move.target, move.length)
        self._rows.move(move.source, move.target)

    def _scrub(self, row: int) -> None:
        self.talker.cache.scrub(row)
        self._rows.next_input[row] = 0

    def _frame_step(self, plan: StepPlan) -> Tensor:
        """One frame for the first B rows, padding included: int64 (B,) of `RowEnd` values."""
        rows, num_rows = self._rows, _round_up(len(plan.rows), _ROW_STEP)
        length = _round_up(plan.attention_length, LENGTH_STEP)
        rows.rewind(len(plan.rows), num_rows)
        position, frame = rows.position[:num_rows], rows.frame[:num_rows]
        talker_draw = draw_for((request.sampling.talker for request in plan.rows), self._codebook_size + 1)
        predictor_draw = draw_for((request.sampling.predictor for request in plan.rows), self._codebook_size)
        noise = self._frame_noise(num_rows, talker_draw, predictor_draw)

        hidden = self.talker.decode(rows.next_input[:num_rows], position, length)
        lane, first_score = self._draw_first(self.talker.logits(hidden), noise, talker_draw)
        # A row whose speech has ended goes on with some code to the end of the step, and is not looked at.
        first = lane.clamp_max(self._codebook_size - 1)
        codes, scores = self._predictor.complete(
            hidden, first, noise[1:], rows.predictor_sampling.first(num_rows), predictor_draw
        )
        following = self.talker.frame_rows(codes) + rows.text_row(num_rows)

        healthy = first_score.isfinite() & scores.isfinite().all(dim=1)
        status = torch.where(frame >= rows.max_frames[:num_rows], int(RowEnd.LENGTH), int(RowEnd.RUNNING))
        status.masked_fill_(lane == self._codebook_size, int(RowEnd.EOS))
        status.masked_fill_(~healthy, int(RowEnd.NON_FINITE))

        rows.keep_frame(num_rows, codes)
        rows.next_input[:num_rows] = following
        position += 1
        frame += 1
        return status

    def _draw_first(self, logits: Tensor, noise: Sequence[Tensor], draw: Draw) -> tuple[Tensor, Tensor]:
        """Codebook 0, or the lane above it for the end of speech: lanes int64 (B,), winning scores (B,)."""
        rows, num_rows = self._rows, logits.shape[0]
        logits = penalise_repetition(logits, rows.present[:num_rows], rows.penalty[:num_rows])
        logits[:, -1].masked_fill_(rows.frame[:num_rows] < MIN_FRAMES, -torch.inf)
        return sample(logits, noise[0], rows.talker_sampling.first(num_rows), draw)

    def _frame_noise(self, num_rows: int, talker_draw: Draw, predictor_draw: Draw) -> Sequence[Tensor]:
        if isinstance(talker_draw, Argmax) and isinstance(predictor_draw, Argmax):
            return self._no_noise(num_rows)
        return self._noise.at(self._rows.seed[:num_rows], self._rows.frame[:num_rows])

    def _no_noise(self, num_rows: int) -> Sequence[Tensor]:
        nothing = self._rows.next_input.new_empty(num_rows, 0)
        return [nothing] * len(self._noise.vocab_sizes)


def load_modules(
    path: Path, config: ModelConfig, dtype: torch.dtype, device: torch.device
) -> tuple[Talker, CodePredictor]:
    """From the main `model.safetensors`, in `dtype`. Raises CheckpointError naming tensors not as published."""
    tensors = read_tensors(path)
    _require_known(tensors, config, path)
    talker_tensors = {
        name: tensor
        for name, tensor in tensors_under(tensors, _TALKER).items()
        if not name.startswith(_PREDICTOR_IN_TALKER)
    }
    predictor_tensors = tensors_under(tensors, _TALKER + _PREDICTOR_IN_TALKER)
    talker = Talker.load(config.talker, talker_tensors, f"{path} ({_TALKER}*)", dtype, device)
    source = f"{path} ({_TALKER}{_PREDICTOR_IN_TALKER}*)"
    return talker, CodePredictor.load(config.predictor, predictor_tensors, source, dtype, device)


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _require_known(tensors: Mapping[str, Tensor], config: ModelConfig, path: Path) -> None:
    """The speaker encoder's tensors are another stage's; whatever else is not the talker's is nobody's."""
    known = (_TALKER, _SPEAKER_ENCODER) if config.has_speaker_encoder else (_TALKER,)
    strangers = sorted(name for name in tensors if not name.startswith(known))
    if strangers:
        raise CheckpointError(f"{path} has {len(strangers)} unknown tensors: {', '.join(strangers[:8])}")


class _Rows:
    """Everything the device knows about the requests in the batch, one row each, allocated once.

    position, frame, max_frames, seed: int64 (rows,); next_input (rows, hidden); present: bool (rows, lanes), the
    lanes of codebook 0 drawn so far; codes: int16 (rows, capacity, Q); trailing (rows, capacity, hidden) holds the
    text rows still to be added, of which row `trailing_length` is PAD.
    """

    def __init__(self, config: ModelConfig, num_rows: int, capacity: int, device: torch.device) -> None:
        codebook_size, hidden_size = config.predictor.codebook_size, config.talker.decoder.hidden_size
        self.position = torch.zeros(num_rows, dtype=torch.int64, device=device)
        self.frame = torch.zeros_like(self.position)
        self.max_frames = torch.zeros_like(self.position)
        self.seed = torch.zeros_like(self.position)
        self.trailing_length = torch.zeros_like(self.position)
        self.next_input = torch.zeros(num_rows, hidden_size, device=device)
        self.present = torch.zeros(num_rows, codebook_size + 1, dtype=torch.bool, device=device)
        self.penalty = torch.ones(num_rows, 1, device=device)
        self.codes = torch.zeros(num_rows, capacity, config.talker.num_codebooks, dtype=torch.int16, device=device)
        self.trailing = torch.zeros(num_rows, capacity, hidden_size, device=device)
        self.talker_sampling = RowSampling(num_rows, codebook_size + 1, device)
        self.predictor_sampling = RowSampling(num_rows, codebook_size, device)
        self._starts = torch.arange(num_rows, device=device) * capacity
        self._flat_codes = self.codes.view(-1, config.talker.num_codebooks)
        self._flat_trailing = self.trailing.view(-1, hidden_size)

    def set(self, row: int, request: RequestState, prompt: Tensor, trailing: Tensor) -> None:
        """prompt (P, hidden), trailing (n + 1, hidden)."""
        self.position[row] = prompt.shape[0] - 1
        self.frame[row] = 0
        self.max_frames[row] = request.max_frames
        self.seed[row] = request.seed
        self.next_input[row] = prompt[-1]
        self.present[row] = False
        self.penalty[row] = request.sampling.repetition_penalty
        self.trailing[row, : trailing.shape[0]] = trailing
        self.trailing_length[row] = trailing.shape[0] - 1
        self.talker_sampling.set(row, request.sampling.talker)
        self.predictor_sampling.set(row, request.sampling.predictor)

    def move(self, source: int, target: int) -> None:
        for tensor in (
            self.position,
            self.frame,
            self.max_frames,
            self.seed,
            self.trailing_length,
            self.next_input,
            self.present,
            self.penalty,
            self.codes,
            self.trailing,
        ):
            tensor[target] = tensor[source]
        self.talker_sampling.move(source, target)
        self.predictor_sampling.move(source, target)

    def rewind(self, start: int, end: int) -> None:
        """Send padding rows back to position 0, lest they run past the end of theirs."""
        self.position[start:end] = 0
        self.frame[start:end] = 0

    def text_row(self, num_rows: int) -> Tensor:
        """The text side of the next input of the first rows: (B, hidden)."""
        index = torch.minimum(self.frame[:num_rows], self.trailing_length[:num_rows])
        return self._flat_trailing.index_select(0, self._starts[:num_rows] + index)

    def keep_frame(self, num_rows: int, codes: Tensor) -> None:
        """codes: int64 (B, Q) of the frame being made."""
        self._flat_codes.index_copy_(0, self._starts[:num_rows] + self.frame[:num_rows], codes.to(torch.int16))
        self.present[:num_rows].scatter_(1, codes[:, :1], value=True)
