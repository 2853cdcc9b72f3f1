"""Which shapes exist: rows of a frame step, and tokens of a prompt pass. Pure arithmetic.

Rounding depends on the shape that a matrix product has, so for equal codes in every batch a request has to run in equal
shapes: `strict` has one number of rows, and gives each prompt the pass that its own length asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.profiles import EngineReproducibility

_ROW_BUCKETS = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 320, 384, 448, 512)
_TOKEN_STEP = 128
# Larger passes take the device longer than the host needs to launch them.
_MOST_CAPTURED_TOKENS = 1024
# The pass of ordinary prompts where each has the pass that its own length asks for.
_STRICT_TOKENS = 512


@dataclass(frozen=True, slots=True)
class PromptGroup:
    """Prompts that go through the talker in one pass of `num_tokens` tokens."""

    num_tokens: int
    admissions: tuple[SlotAdmission, ...]


@dataclass(frozen=True, slots=True)
class CapturePlan:
    """row_buckets, token_buckets: ascending. captured_tokens: those of the token buckets that are CUDA graphs."""

    reproducibility: EngineReproducibility
    row_buckets: tuple[int, ...]
    token_buckets: tuple[int, ...]
    captured_tokens: tuple[int, ...]

    @property
    def max_rows(self) -> int:
        return self.row_buckets[-1]

    def rows_for(self, num_rows: int) -> int:
        """The bucket that a step of so many rows runs in."""
        return _smallest(self.row_buckets, num_rows)

    def groups(self, admissions: Sequence[SlotAdmission]) -> tuple[PromptGroup, ...]:
        match self.reproducibility:
            case EngineReproducibility.BEST_EFFORT:
                parts = _filled(admissions, self.token_buckets[-1])
                sizes = [sum(admission.prefill_rows for admission in part) for part in parts]
                return tuple(
                    PromptGroup(_smallest(self.token_buckets, size), part)
                    for size, part in zip(sizes, parts, strict=True)
                )
            case EngineReproducibility.STRICT:
                return tuple(
                    PromptGroup(bucket, part)
                    for bucket in self.token_buckets
                    for part in _filled([a for a in admissions if self._own_bucket(a) == bucket], bucket)
                )

    def _own_bucket(self, admission: SlotAdmission) -> int:
        return _smallest(self.token_buckets, admission.prefill_rows)


def capture_plan(num_slots: int, capacity: int, reproducibility: EngineReproducibility) -> CapturePlan:
    longest = _round_up(capacity, _TOKEN_STEP)
    match reproducibility:
        case EngineReproducibility.BEST_EFFORT:
            rows = (*(bucket for bucket in _ROW_BUCKETS if bucket < num_slots), num_slots)
            tokens = tuple(range(_TOKEN_STEP, longest + 1, _TOKEN_STEP))
            return CapturePlan(reproducibility, rows, tokens, tuple(n for n in tokens if n <= _MOST_CAPTURED_TOKENS))
        case EngineReproducibility.STRICT:
            ordinary = min(_STRICT_TOKENS, longest)
            # Kernel by kernel, however many prompts there are: nothing about a pass may depend on its company.
            return CapturePlan(reproducibility, (num_slots,), tuple(sorted({ordinary, longest})), ())


def opening_plan(plan: CapturePlan, most_rows: int) -> CapturePlan | None:
    """Steps of the frames that streams begin with, beside those of `plan`. None: there are no such steps."""
    if not most_rows or plan.reproducibility is EngineReproducibility.STRICT:
        return None
    buckets = tuple(bucket for bucket in plan.row_buckets if bucket <= most_rows)
    return replace(plan, row_buckets=buckets or plan.row_buckets[:1], token_buckets=(), captured_tokens=())


def _smallest(buckets: Sequence[int], number: int) -> int:
    return next(bucket for bucket in buckets if bucket >= number)


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _filled(admissions: Sequence[SlotAdmission], num_tokens: int) -> list[tuple[SlotAdmission, ...]]:
    """In their order, as many in each part as fit; a prompt is never divided."""
    parts: list[list[SlotAdmission]] = []
    room = 0
    for admission in admissions:
        if not parts or admission.prefill_rows > room:
            parts.append([])
            room = num_tokens
        parts[-1].append(admission)
        room -= admission.prefill_rows
    return [tuple(part) for part in parts]
