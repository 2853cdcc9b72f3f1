"""What a codec lane has to decode: whose frames may be in the next pass, and where each one's state is. No tensors.

An utterance is decoded whole, or as a stream: its frames come as they are made, and it keeps its state between them.
The reference of a voice is decoded for its state alone, from which utterances in that voice go on.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from worker.engine.cuda.codec.pass_runner import PassRow
from worker.engine.cuda.codec.stream_state import ORIGIN_SLOT
from worker.engine.interface import CodecFrames, Pcm
from worker.engine.requests.prompt import PlacedFrames
from worker.engine.requests.request_state import RequestState
from worker.engine.serving.admission_queue import Turns
from worker.engine.serving.codec_lane import EndedFrames

# Slots for states behind voices' references: one in so many, and no more than that.
_WARM_SHARE, _MOST_WARM = 8, 32
# Slots that streams leave to utterances: a quarter of the others, and no more than that.
_UTTERANCE_SHARE, _MOST_FOR_UTTERANCES = 4, 64
# While a listener's frames wait, every second pass is for other frames. Each has room for ten times as many.
_LIVE_OVERTAKINGS = 1


@dataclass(slots=True, eq=False, kw_only=True)
class _Frames:
    """arrived_s: of the first frame that waits, on the monotonic clock. slot: of the state behind the frames that were
    launched, while others are to come.
    """

    frames: CodecFrames
    arrived_s: float
    is_streamed: bool
    is_awaited: bool
    num_launched: int = 0
    slot: int | None = None

    @property
    def num_waiting(self) -> int:
        return len(self.frames) - self.num_launched


@dataclass(slots=True, eq=False, kw_only=True)
class DecodeRequest(_Frames):
    """The frames of one request.

    num_dropped: frames at the beginning whose samples are not delivered. begins_behind: the state of a reference to go
    on from, if not from the origin. utterance: of a stream, once it has ended.
    """

    request: RequestState
    num_dropped: int = 0
    begins_behind: WarmState | None = None
    utterance: EndedFrames | None = None
    parts: list[Pcm] = field(default_factory=list)
    num_parts: int = 0
    is_dropped: bool = False

    @property
    def is_ended(self) -> bool:
        return self.utterance is not None

    @property
    def is_unheard(self) -> bool:
        """Of a stream that has made no sound yet."""
        return self.is_streamed and self.num_launched <= self.num_dropped

    @property
    def may_begin(self) -> bool:
        return self.begins_behind is None or self.begins_behind.is_launched

    @property
    def completed(self) -> EndedFrames | None:
        """The utterance, once all of its samples are there."""
        return None if self.num_waiting or len(self.parts) < self.num_parts else self.utterance


@dataclass(slots=True, eq=False, kw_only=True)
class ReferencePass(_Frames):
    """The frames of a voice's reference, whose samples no request wants. leaves: the state that it brings about."""

    leaves: WarmState

    @property
    def is_ended(self) -> bool:
        return True

    @property
    def is_unheard(self) -> bool:
        """A stream that has made no sound yet may begin after it."""
        return self.is_streamed

    @property
    def may_begin(self) -> bool:
        return True


Decode = DecodeRequest | ReferencePass


@dataclass(frozen=True, slots=True)
class ReadyDecodes:
    """What may be in the next pass, by age: streams, other awaited frames, and the rest."""

    streams: list[Decode]
    awaited: list[Decode]
    others: list[Decode]

    @property
    def has_awaited(self) -> bool:
        return bool(self.streams or self.awaited)

    @property
    def num_frames(self) -> int:
        return sum(decode.num_waiting for decode in (*self.streams, *self.awaited, *self.others))

    def of(self, decode: Decode) -> list[Decode]:
        """Where it stands."""
        return self.streams if decode.is_streamed else self.awaited if decode.is_awaited else self.others

    def __bool__(self) -> bool:
        return self.has_awaited or bool(self.others)


class DecodeQueue:
    """Belongs to the lane's thread."""

    def __init__(self, slots: Sequence[int], scratch_slot: int) -> None:
        """slots: for states; scratch_slot: where a state goes that no pass will need."""
        num_warm = min(len(slots) // _WARM_SHARE, _MOST_WARM)
        self._warm = WarmSlots(slots[:num_warm])
        self._free_slots = list(slots[num_warm:])
        num_slots = len(self._free_slots)
        # Free slots for streams, and for other frames: these leave half to streams.
        self._room = {
            True: num_slots - min(-(-num_slots // _UTTERANCE_SHARE), _MOST_FOR_UTTERANCES),
            False: -(-num_slots // 2),
        }
        self._scratch_slot = scratch_slot
        self._live_turns = Turns(_LIVE_OVERTAKINGS)
        self._turns = Turns()
        # With frames that wait.
        self._waiting: deque[Decode] = deque()
        self._streams: dict[RequestState, DecodeRequest] = {}

    @property
    def has_streams(self) -> bool:
        return bool(self._streams)

    @property
    def num_utterances(self) -> int:
        """Whose frames wait."""
        return sum(isinstance(decode, DecodeRequest) for decode in self._waiting)

    def add_part(self, request: RequestState, frames: CodecFrames) -> None:
        """The next frames of a stream."""
        decode = self._streams.get(request)
        if decode is None:
            self._streams[request] = self._enter(request, frames)
        else:
            self._append(decode, frames)

    def add(self, utterance: EndedFrames) -> DecodeRequest:
        """All frames of an utterance; of a stream the last ones are new. What decodes it, which may be complete."""
        decode = self._streams.pop(utterance.request, None)
        if decode is None:
            decode = self._enter(utterance.request, utterance.frames)
        else:
            self._append(decode, utterance.frames[len(decode.frames) - decode.num_dropped :])
        decode.utterance = utterance
        if not decode.num_waiting:
            self._release(decode)
        return decode

    def drop(self, request: RequestState) -> None:
        """A stream that does not go on. Others are ignored."""
        decode = self._streams.pop(request, None)
        if decode is None:
            return
        decode.is_dropped = True
        if decode.num_waiting:
            self._waiting.remove(decode)
        if decode.begins_behind is not None and not decode.num_launched:
            decode.begins_behind.users -= 1
        self._release(decode)

    def ready(self) -> ReadyDecodes:
        """What has no slot may come to need one: there is never more of that in a pass than there are free slots."""
        ready = ReadyDecodes([], [], [])
        num_free, room = len(self._free_slots), dict(self._room)
        for decode in self._waiting:
            if not decode.may_begin:
                continue
            if decode.slot is None:
                if not num_free or not room[decode.is_streamed]:
                    continue
                num_free -= 1
                room[decode.is_streamed] -= 1
            ready.of(decode).append(decode)
        return ready

    def next_company(self, ready: ReadyDecodes) -> Sequence[Decode]:
        """Among what the next pass chooses, where anything is ready.

        Streams have their own passes, which are small, and those without audio so far go first: each of the others has
        enough buffered audio to wait for a pass.
        """
        others_wait = bool(ready.awaited or ready.others)
        is_live = self._live_turns.is_of_first(first_waits=bool(ready.streams), second_waits=others_wait)
        self._live_turns.taken(of_first=is_live, second_waits=others_wait)
        if is_live:
            return [decode for decode in ready.streams if decode.is_unheard] or ready.streams
        is_awaited = self._turns.is_of_first(first_waits=bool(ready.awaited), second_waits=bool(ready.others))
        self._turns.taken(of_first=is_awaited, second_waits=bool(ready.others))
        return ready.awaited if is_awaited else (*ready.others, *ready.awaited)

    def take_row(self, decode: Decode, max_frames: int) -> PassRow:
        """The next frames, which count as launched then. Passes run in order: what one leaves, the next may read."""
        frames = decode.frames[decode.num_launched : decode.num_launched + max_frames]
        read_slot = _first_slot(decode) if decode.slot is None else decode.slot
        decode.num_launched += len(frames)
        if isinstance(decode, DecodeRequest):
            decode.num_parts += 1
        if not decode.num_waiting:
            self._waiting.remove(decode)
        if decode.num_waiting or not decode.is_ended:
            return PassRow(frames, read_slot, self._claim_slot(decode))
        self._release(decode)
        return PassRow(frames, read_slot, self._last_slot(decode))

    def _enter(self, request: RequestState, frames: CodecFrames) -> DecodeRequest:
        """A new one, and before it its reference's where that is new."""
        decode = DecodeRequest(
            request=request,
            frames=frames[:0],
            arrived_s=time.monotonic(),
            is_streamed=request.is_streamed,
            is_awaited=request.is_awaited,
        )
        placed = request.prompt.reference
        if placed is not None and len(placed.codes):
            self._begin_behind(placed, decode)
        if request.prefix is not None:
            decode.num_dropped += request.num_prefix
            self._append(decode, request.prefix.astype(frames.dtype))
        self._append(decode, frames)
        return decode

    def _begin_behind(self, placed: PlacedFrames, decode: DecodeRequest) -> None:
        reference = placed.codes.astype(decode.frames.dtype)
        warm, is_new = self._warm.enter(reference)
        if warm is None:
            # No room to keep its state: this one utterance decodes it again.
            decode.num_dropped = len(reference)
            self._append(decode, reference)
            return
        decode.begins_behind = warm
        if is_new:
            self._waiting.append(
                ReferencePass(
                    frames=reference,
                    arrived_s=decode.arrived_s,
                    is_streamed=decode.is_streamed,
                    is_awaited=decode.is_awaited,
                    leaves=warm,
                )
            )

    def _append(self, decode: DecodeRequest, frames: CodecFrames) -> None:
        if not len(frames):
            return
        if not decode.num_waiting:
            decode.arrived_s = time.monotonic()
            self._waiting.append(decode)
        decode.frames = np.concatenate((decode.frames, frames))

    def _claim_slot(self, decode: Decode) -> int:
        if decode.slot is None:
            decode.slot = self._free_slots.pop()
            self._room[decode.is_streamed] -= 1
        return decode.slot

    def _release(self, decode: Decode) -> None:
        if decode.slot is not None:
            self._free_slots.append(decode.slot)
            self._room[decode.is_streamed] += 1
            decode.slot = None

    def _last_slot(self, decode: Decode) -> int:
        match decode:
            case DecodeRequest():
                return self._scratch_slot
            case ReferencePass(leaves=warm):
                warm.is_launched = True
                return warm.slot


def _first_slot(decode: Decode) -> int:
    if isinstance(decode, ReferencePass) or decode.begins_behind is None:
        return ORIGIN_SLOT
    decode.begins_behind.users -= 1
    return decode.begins_behind.slot


@dataclass(slots=True, eq=False)
class WarmState:
    """slot: where it is. is_launched: the pass that leaves it there is launched, so later passes may begin
    from it. users: utterances that have yet to begin from it.
    """

    slot: int
    is_launched: bool = False
    users: int = 0


class WarmSlots:
    """Least recently asked for goes first, unless an utterance has yet to use it. Belongs to one thread."""

    def __init__(self, slots: Sequence[int]) -> None:
        self._free = list(slots)
        self._states: OrderedDict[bytes, WarmState] = OrderedDict()

    def enter(self, reference: CodecFrames) -> tuple[WarmState | None, bool]:
        """The state behind a reference, with one user more, and whether the caller has to bring it about.

        None while all slots are in use.
        """
        key = hashlib.sha256(reference.tobytes()).digest()
        known = self._states.get(key)
        if known is not None:
            self._states.move_to_end(key)
            known.users += 1
            return known, False
        slot = self._claim()
        if slot is None:
            return None, False
        self._states[key] = WarmState(slot, users=1)
        return self._states[key], True

    def _claim(self) -> int | None:
        if self._free:
            return self._free.pop()
        for key, state in self._states.items():
            if state.users == 0 and state.is_launched:
                del self._states[key]
                return state.slot
        return None
