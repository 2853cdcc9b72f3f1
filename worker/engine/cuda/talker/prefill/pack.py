"""Many prompts behind one another as plain arrays, ready to be copied to the device. Pure: knows no tensors.

A prompt of P rows fills positions 0 to P - 2 of its slot; its last row is the input of the slot's first frame step. The
frames of a prefix are further rows of it, with the text beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.engine.interface import CodecFrames, TokenSampling
from worker.engine.requests.prompt import NO_ID, PromptLayout
from worker.engine.requests.request_state import RequestState
from worker.engine.requests.sampling import effective_k

Integers = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SlotAdmission:
    """`request` takes `slot`."""

    slot: int
    request: RequestState

    @property
    def prefill_rows(self) -> int:
        """Rows that go through the talker before the first frame: of the prompt and of the prefix."""
        return self.request.num_input_rows - 1


@dataclass(frozen=True, slots=True)
class PackedPrompts:
    """n prompts in a pass of M tokens; what the prompts do not fill are tokens of the scratch slot.

    text_ids, codec_ids: (M + n,), `NO_ID` where a row has no such side; the n last rows of the prompts come behind the
    tokens. token_slots, token_positions: (M,). slots: (n,); starts: (n + 1,), where each prompt's tokens begin. Added
    to single rows of the M + n: speaker_rows (s,) with speaker_embeddings (s, hidden), and reference_rows (R,) with
    reference_codes (R, Q), prefixes included.
    """

    text_ids: Integers
    codec_ids: Integers
    token_slots: Integers
    token_positions: Integers
    slots: Integers
    starts: Integers
    max_length: int
    speaker_rows: Integers
    speaker_embeddings: Floats
    reference_rows: Integers
    reference_codes: Integers

    @property
    def num_tokens(self) -> int:
        """M."""
        return self.token_slots.shape[0]


@dataclass(frozen=True, slots=True)
class PackedSlots:
    """The first state of n slots.

    integers: int64 (8, n): position, max_frames, seed, trailing_length, the two top_k, frame, and zeros for status.
    floats: float32 (7, n): penalty, then inverse_temperature, noise_scale, top_p of the talker and of the predictor.
    trailing_ids: (n, w), PAD behind each list.
    spoken: int64 (2, p), a slot and an entry of codebook 0 that a prefix has of it.
    """

    slots: Integers
    integers: NDArray[np.int64]
    floats: Floats
    trailing_ids: Integers
    spoken: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TextUpdate:
    """ids: (n,), beside frame `start` and those after it, with PAD as the last one."""

    start: int
    ids: Integers
    max_frames: int


def pack_prompts(admissions: Sequence[SlotAdmission], num_tokens: int, scratch_slot: int, pad_id: int) -> PackedPrompts:
    """num_tokens: M, at least the prefill rows of all. pad_id: as `pack_slots` has it."""
    layouts = [admission.request.prompt for admission in admissions]
    lengths = np.array([admission.prefill_rows for admission in admissions], dtype=np.int32)
    starts = np.concatenate(([0], lengths.cumsum())).astype(np.int32)
    slots = np.array([admission.slot for admission in admissions], dtype=np.int32)
    text_ids = np.full(num_tokens + len(layouts), NO_ID, dtype=np.int32)
    codec_ids = text_ids.copy()
    token_slots = np.full(num_tokens, scratch_slot, dtype=np.int32)
    token_positions = np.zeros(num_tokens, dtype=np.int32)
    token_slots[: starts[-1]] = slots.repeat(lengths)
    speaker_rows: list[int] = []
    reference_rows: list[NDArray[np.int64]] = []
    codes: list[CodecFrames] = []
    for index, layout in enumerate(layouts):
        rows = np.append(np.arange(starts[index], starts[index + 1]), num_tokens + index)
        text_ids[rows[: layout.num_rows]], codec_ids[rows[: layout.num_rows]] = layout.text_ids, layout.codec_ids
        token_positions[rows[:-1]] = np.arange(lengths[index])
        if layout.speaker is not None:
            speaker_rows.append(int(rows[layout.speaker.row]))
        if layout.reference is not None:
            first = layout.reference.start
            reference_rows.append(rows[first : first + layout.reference.codes.shape[0]])
            codes.append(layout.reference.codes)
        prefix = admissions[index].request.prefix
        if prefix is not None:
            text_ids[rows[layout.num_rows :]] = _text_beside(len(prefix), layout, pad_id)
            reference_rows.append(rows[layout.num_rows :])
            codes.append(prefix)
    embeddings = [layout.speaker.embedding for layout in layouts if layout.speaker is not None]
    return PackedPrompts(
        text_ids=text_ids,
        codec_ids=codec_ids,
        token_slots=token_slots,
        token_positions=token_positions,
        slots=slots,
        starts=starts,
        max_length=int(lengths.max()),
        speaker_rows=np.array(speaker_rows, dtype=np.int32),
        speaker_embeddings=np.stack(embeddings).astype(np.float32) if embeddings else np.zeros((0, 0), np.float32),
        reference_rows=np.concatenate(reference_rows).astype(np.int32) if codes else np.zeros(0, np.int32),
        reference_codes=np.concatenate(codes).astype(np.int32) if codes else np.zeros((0, 0), np.int32),
    )


def padded_places(prompts: PackedPrompts, num_tokens: int, num_prompts: int, scratch_slot: int) -> Integers:
    """Where the tokens belong, in one array of a length that does not depend on the prompts: int32 (2 T + 2 P + 1,).

    Behind one another `token_slots` and `token_positions` for T tokens, `slots` of P prompts and their P + 1 `starts`.
    What the prompts do not fill are tokens of the scratch slot, and empty prompts.
    """
    places = np.zeros(2 * num_tokens + 2 * num_prompts + 1, dtype=np.int32)
    tokens, slots, starts = np.split(places, (2 * num_tokens, 2 * num_tokens + num_prompts))
    token_slots, token_positions = tokens.reshape(2, num_tokens)
    token_slots[:], slots[:], starts[:] = scratch_slot, scratch_slot, prompts.starts[-1]
    token_slots[: prompts.num_tokens] = prompts.token_slots
    token_positions[: prompts.num_tokens] = prompts.token_positions
    slots[: prompts.slots.shape[0]] = prompts.slots
    starts[: prompts.starts.shape[0]] = prompts.starts
    return places


def scratch_prompt(num_tokens: int, scratch_slot: int, capacity: int) -> PackedPrompts:
    """A pass of zero rows that only the scratch slot sees: for warming up."""
    length = min(num_tokens, capacity)
    positions = np.zeros(num_tokens, dtype=np.int32)
    positions[:length] = np.arange(length)
    nothing = np.full(num_tokens + 1, NO_ID, dtype=np.int32)
    return PackedPrompts(
        text_ids=nothing,
        codec_ids=nothing,
        token_slots=np.full(num_tokens, scratch_slot, dtype=np.int32),
        token_positions=positions,
        slots=np.array([scratch_slot], dtype=np.int32),
        starts=np.array([0, length], dtype=np.int32),
        max_length=length,
        speaker_rows=np.zeros(0, np.int32),
        speaker_embeddings=np.zeros((0, 0), np.float32),
        reference_rows=np.zeros(0, np.int32),
        reference_codes=np.zeros((0, 0), np.int32),
    )


def pack_slots(admissions: Sequence[SlotAdmission], codebook_size: int, pad_id: int) -> PackedSlots:
    """pad_id: the text id added to the inputs of all frames behind a request's trailing text."""
    integers, floats = np.zeros((8, len(admissions)), np.int64), np.zeros((7, len(admissions)), np.float32)
    width = 1 + max(admission.request.prompt.trailing_text_ids.shape[0] for admission in admissions)
    trailing = np.full((len(admissions), width), pad_id, dtype=np.int32)
    spoken: list[tuple[int, int]] = []
    for column, admission in enumerate(admissions):
        request, ids = admission.request, admission.request.prompt.trailing_text_ids
        talker = _draw(request.sampling.talker, codebook_size + 1)
        predictor = _draw(request.sampling.predictor, codebook_size)
        integers[:7, column] = (
            admission.prefill_rows, request.max_frames, request.seed, ids.shape[0], talker.top_k, predictor.top_k,
            request.num_prefix,
        )  # fmt: skip
        if request.prefix is not None:
            spoken += [(admission.slot, code) for code in set(request.prefix[:, 0].tolist())]
        floats[:, column] = (request.sampling.repetition_penalty, *talker.floats, *predictor.floats)
        trailing[column, : ids.shape[0]] = ids
    slots = np.array([admission.slot for admission in admissions], dtype=np.int32)
    pairs = np.array(spoken, dtype=np.int64).reshape(-1, 2).T
    return PackedSlots(slots, integers, floats, trailing, np.ascontiguousarray(pairs))


def _text_beside(num_frames: int, layout: PromptLayout, pad_id: int) -> Integers:
    """The text ids added to the inputs made of the first frames: (num_frames,)."""
    beside = np.full(num_frames, pad_id, dtype=np.int32)
    known = layout.trailing_text_ids[:num_frames]
    beside[: known.shape[0]] = known
    return beside


@dataclass(frozen=True, slots=True)
class _Draw:
    """floats: inverse temperature, noise scale, top_p."""

    top_k: int
    floats: tuple[float, float, float]


def _draw(sampling: TokenSampling, vocab_size: int) -> _Draw:
    if sampling.temperature <= 0:
        return _Draw(vocab_size, (1.0, 0.0, 1.0))
    return _Draw(effective_k(sampling, vocab_size), (1 / sampling.temperature, 1.0, sampling.top_p))
