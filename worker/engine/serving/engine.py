"""The engine of this model family, for any talker.

The loop thread takes requests in, runs one step of the talker's lane, and commits the result. A codec lane decodes
finished frames on other threads, so the loop never waits for audio. A voice lane turns recordings into voice prompts.

Each future is pending in one place. The thread that removes it there resolves it, so each is resolved exactly once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import torch

from worker.engine.cores import usable_cores
from worker.engine.errors import EngineDied, RequestCancelled, RequestRejected
from worker.engine.interface import (
    EngineInfo,
    EngineStats,
    FinishReason,
    OnAudio,
    Pcm,
    ReferenceAudio,
    SamplingParams,
    Speech,
    SpeechChunk,
    SpeechRequest,
    TokenSampling,
    VoicePrompt,
)
from worker.engine.requests.budget import frame_budget
from worker.engine.requests.prefix import checked_prefix
from worker.engine.requests.prompt import PromptLayout
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.requests.writing import Writing
from worker.engine.serving.codec_lane import EndedFrames
from worker.engine.serving.parts import EngineParts
from worker.engine.serving.rounding import round_rows_alike
from worker.engine.serving.talker_lane import LaneStep, MoreText

logger = logging.getLogger(__name__)

# Values outside these ranges overflow fp32 and make no audible difference.
_TEMPERATURES = (1e-3, 100.0)
_PENALTIES = (0.01, 100.0)
_SEED_RANGE = range(-(1 << 63), 1 << 63)


@dataclass(slots=True)
class _Pending:
    """Guarded by the engine's lock. `admitted_s` is on the monotonic clock.

    state: None while an open text is too short for its prompt. writing: None unless the text is open.
    handed, decoded: frames that the codec lane received, and frames with delivered samples. is_handed: it has all.
    """

    future: Future[Speech]
    request: SpeechRequest
    on_audio: OnAudio | None
    state: RequestState | None = None
    writing: Writing | None = None
    admitted_s: float | None = None
    handed: int = 0
    decoded: int = 0
    is_handed: bool = False


class LaneEngine:
    """An `Engine` of loaded parts. The constructor starts its threads."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._talker = parts.talker
        self._wake = threading.Condition()
        self._pending: dict[str, _Pending] = {}
        self._arrivals: list[RequestState] = []
        # For the loop thread only: requests that wait for the codec.
        self._held: list[RequestState] = []
        self._more_text: list[MoreText] = []
        self._cancelled: list[RequestState] = []
        self._voices: set[Future[VoicePrompt]] = set()
        self._stopped: EngineDied | None = None
        self._steps = self._beats = self._frames = self._finished = self._standing = 0
        self._codec_lane = parts.codec_lane
        self._loop = threading.Thread(target=self.run_guarded, args=(self._run_loop,), name="talker-loop", daemon=True)
        self._codec_lane.start(self)
        parts.voices.start(self.run_guarded, self._settle_voice)
        self._loop.start()

    @property
    def info(self) -> EngineInfo:
        return self._parts.info

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        future: Future[Speech] = Future()
        future.set_running_or_notify_cancel()  # callers use `cancel`, not Future.cancel
        try:
            pending = self._accept(_Pending(future, request, on_audio))
            with self._wake:
                self._require_running()
                if request.request_id in self._pending:
                    raise RequestRejected(f"request {request.request_id!r} is already in flight")
                self._pending[request.request_id] = pending
                self._arrive(pending)
        except (RequestRejected, EngineDied) as error:
            future.set_exception(error)
        return future

    def extend(self, request_id: str, text: str, *, is_last: bool) -> None:
        with self._wake:
            pending = self._pending.get(request_id)
            if pending is None or pending.writing is None or pending.writing.is_over:
                return
            try:
                self._write_on(pending, pending.writing, text, is_last=is_last)
            except RequestRejected as error:
                del self._pending[request_id]
                self._forget(pending)
                rejection = error
            else:
                return
        pending.future.set_exception(rejection)

    def cancel(self, request_id: str) -> None:
        with self._wake:
            pending = self._pending.pop(request_id, None)
            if pending is None:
                return
            self._forget(pending)
        pending.future.set_exception(RequestCancelled(f"request {request_id!r} was cancelled"))

    def encode_voice(self, reference: ReferenceAudio) -> Future[VoicePrompt]:
        future: Future[VoicePrompt] = Future()
        future.set_running_or_notify_cancel()
        try:
            with self._wake:
                self._require_running()
                self._voices.add(future)
                self._parts.voices.put(reference, future)
        except EngineDied as error:
            future.set_exception(error)
        return future

    def stats(self) -> EngineStats:
        with self._wake:
            active = sum(pending.admitted_s is not None for pending in self._pending.values())
            unwritten = sum(pending.state is None for pending in self._pending.values())
            codec = self._codec_lane.counters
            return EngineStats(
                steps=self._steps,
                frames=self._frames,
                active=active,
                waiting=len(self._pending) - active - unwritten,
                finished=self._finished,
                # To load or seek a decoder is progress: the watchdog must not end the engine.
                beats=self._beats + codec.start_beats,
                codec_graph_passes=codec.graph_passes,
                codec_fallbacks=codec.fallbacks,
                codec_waiting_frames=self._codec_waiting_frames,
                decoding=sum(each.is_handed and each.on_audio is None for each in self._pending.values()),
                lacks_decoder=codec.num_away > 0,
                standing=self._standing,
            )

    def close(self) -> None:
        self._stop(EngineDied("the engine was closed"))
        self._loop.join()
        self._codec_lane.join()
        self._parts.voices.join()

    # ------------------------------------------------------------------------------------------ any thread

    def _accept(self, pending: _Pending) -> _Pending:
        """Checks the request and builds its state. Raises RequestRejected for an unsupported request."""
        request, prompts = pending.request, self._parts.prompts
        _require_sampling(request.sampling)
        if request.seed not in _SEED_RANGE:
            raise RequestRejected(f"the seed {request.seed} does not fit into 64 bits")
        if request.text_is_open:
            if not self.info.takes_open_text:
                raise RequestRejected("this engine needs the whole text at once")
            pending.writing = Writing(prompts, request, self._parts.capacity)
            self._write_on(pending, pending.writing, request.text, is_last=False)
            return pending
        prompt = prompts.build(request)
        max_frames = frame_budget(
            num_text_tokens=prompt.num_text_tokens,
            prompt_rows=prompt.num_rows,
            trailing_rows=prompt.trailing_text_ids.shape[0],
            capacity=self._parts.capacity,
            requested=request.max_frames,
        )
        pending.state = self._state_of(pending, prompt, max_frames)
        return pending

    def _state_of(self, pending: _Pending, prompt: PromptLayout, max_frames: int) -> RequestState:
        request, info = pending.request, self.info
        return RequestState(
            request.request_id,
            prompt,
            request.sampling,
            request.seed,
            max_frames,
            urgency=request.urgency,
            is_opening=request.is_opening,
            is_streamed=pending.on_audio is not None,
            prefix=checked_prefix(request.prefix, max_frames, info.num_codebooks, info.codebook_size),
            is_open=pending.writing is not None and not pending.writing.is_over,
        )

    def _arrive(self, pending: _Pending) -> None:
        """Pass it to the loop if its prompt is known. The lock is held."""
        if pending.state is not None:
            self._arrivals.append(pending.state)
            self._wake.notify_all()

    def _write_on(self, pending: _Pending, writing: Writing, text: str, *, is_last: bool) -> None:
        """Append text. The lock is held, or the request is still private to this thread. Raises RequestRejected."""
        written = writing.push(text, is_last=is_last)
        if written is None:
            return
        if pending.state is not None:
            self._more_text.append(MoreText(pending.state, written.ids, written.max_frames, is_last=is_last))
            self._wake.notify_all()
            return
        assert written.prompt is not None  # noqa: S101  (it is the first)
        pending.state = self._state_of(pending, written.prompt, written.max_frames)
        if pending.request.request_id in self._pending:
            self._arrive(pending)

    def _forget(self, pending: _Pending) -> None:
        """Cancel it in the loop. The lock is held."""
        if pending.state is not None:
            self._cancelled.append(pending.state)
            self._wake.notify_all()

    def _require_running(self) -> None:
        if self._stopped is not None:
            raise EngineDied(str(self._stopped))

    def _pending_of(self, state: RequestState) -> _Pending | None:
        """The pending submission, or None if it is finished. The lock is held."""
        pending = self._pending.get(state.request_id)
        return pending if pending is not None and pending.state is state else None

    def _stop(self, reason: EngineDied) -> None:
        """Fail all pending requests and end the threads. The first reason is kept."""
        with self._wake:
            if self._stopped is None:
                self._stopped = reason
            futures: list[Future[Speech] | Future[VoicePrompt]] = [one.future for one in self._pending.values()]
            futures += self._voices
            self._pending.clear()
            self._voices.clear()
            self._wake.notify_all()
        self._codec_lane.close()
        self._parts.voices.close()
        for future in futures:
            future.set_exception(reason)

    def run_guarded(self, work: Callable[[], None]) -> None:
        """Runs each thread. An unexpected error ends the engine, not only the thread."""
        try:
            with torch.inference_mode():
                work()
        except Exception as error:
            logger.exception("engine thread failed")
            died = EngineDied(f"the engine failed: {type(error).__name__}: {error}")
            if isinstance(error, EngineDied):
                died = error
            else:
                died.__cause__ = error
            self._stop(died)

    # ------------------------------------------------------------------------------------------ loop thread

    def _run_loop(self) -> None:
        while self._take_in():
            if self._talker.has_work:
                began_s = time.monotonic()
                self._commit(self._talker.step(self._has_news), began_s)

    def _has_news(self) -> bool:
        return bool(self._stopped or self._arrivals or self._more_text or self._cancelled)

    def _take_in(self) -> bool:
        """Pass arrivals and cancellations to the talker. It sleeps while there is no work. False: stop."""
        with self._wake:
            self._standing = self._talker.num_standing
            while not (self._has_news() or self._talker.has_work or (self._held and not self._codec_is_late)):
                self._wake.wait()
            # Add arrivals first, because one of them may be cancelled already.
            self._held += self._arrivals
            if self._held and not self._codec_is_late:
                for state in self._held:
                    self._talker.add(state)
                self._held.clear()
            for more in self._more_text:
                if more.request in self._held:
                    more.request.extend_text(more.ids, more.max_frames, is_last=more.is_last)
                else:
                    self._talker.extend(more)
            for state in self._cancelled:
                if state in self._held:
                    self._held.remove(state)
                else:
                    self._talker.cancel(state)
                    self._codec_lane.drop(state)
            self._arrivals.clear()
            self._more_text.clear()
            self._cancelled.clear()
            return self._stopped is None

    @property
    def _codec_is_late(self) -> bool:
        """Whether new requests, also live ones, wait for the codec. The lock is held."""
        most = self._parts.most_waiting_frames
        return most is not None and self._codec_waiting_frames > most

    @property
    def _codec_waiting_frames(self) -> int:
        return sum(pending.handed - pending.decoded for pending in self._pending.values())

    def _wake_held(self) -> None:
        if self._held:
            self._wake.notify_all()

    def _commit(self, step: LaneStep, began_s: float) -> None:
        self._note_progress(step, began_s)
        for part in step.parts:
            self._note_handed(part.request, len(part.frames))
            self._codec_lane.put_part(part)
        for one in step.ended:
            if one.end is RowEnd.NON_FINITE:
                self._codec_lane.drop(one.request)
                self._reject(one.request, f"the model produced NaN or infinity after {len(one.frames)} frames")
                continue
            self._note_handed(one.request, len(one.frames), is_all=True)
            reason = FinishReason.EOS if one.end is RowEnd.EOS else FinishReason.LENGTH
            self._codec_lane.put(EndedFrames(one.request, one.frames, reason))

    def _note_progress(self, step: LaneStep, began_s: float) -> None:
        with self._wake:
            # A step that was cut short is no progress: else constant arrivals would hide a hung device.
            self._steps += not step.was_cut_short
            self._frames += step.num_frames
            for request in step.admitted:
                pending = self._pending_of(request)
                if pending is not None:
                    pending.admitted_s = began_s

    def _note_handed(self, request: RequestState, num_frames: int, *, is_all: bool = False) -> None:
        with self._wake:
            pending = self._pending_of(request)
            if pending is not None:
                pending.handed = num_frames + (0 if is_all else pending.handed)
                pending.is_handed = is_all

    def _reject(self, state: RequestState, complaint: str) -> None:
        with self._wake:
            pending = self._pending_of(state)
            if pending is None:
                return
            del self._pending[state.request_id]
        pending.future.set_exception(RequestRejected(complaint))

    # ------------------------------------------------------------------------------------------ codec lane

    def is_wanted(self, request: RequestState) -> bool:
        with self._wake:
            return self._pending_of(request) is not None

    @property
    def num_in_flight(self) -> int:
        with self._wake:
            return len(self._pending)

    def deliver_part(self, request: RequestState, part: SpeechChunk) -> None:
        with self._wake:
            self._beats += 1
            pending = self._pending_of(request)
            if pending is not None:
                pending.decoded += len(part.frames)
                self._wake_held()
        if pending is not None and pending.on_audio is not None:
            pending.on_audio(part)

    def deliver(self, utterance: EndedFrames, pcm: Pcm) -> None:
        with self._wake:
            self._beats += 1  # the watchdog sees progress while only the codec works
            pending = self._pending_of(utterance.request)
            if pending is None:
                return  # cancelled, or stopped, while it was decoded
            del self._pending[utterance.request.request_id]
            self._finished += 1
            self._wake_held()
        assert pending.admitted_s is not None  # noqa: S101  (it has frames)
        pending.future.set_result(
            Speech(
                pcm=pcm,
                frames=utterance.frames,
                sample_rate_hz=self.info.sample_rate_hz,
                finish_reason=utterance.finish_reason,
                engine_s=time.monotonic() - pending.admitted_s,
            )
        )

    # ------------------------------------------------------------------------------------------ voice lane

    def _settle_voice(self, future: Future[VoicePrompt], outcome: VoicePrompt | RequestRejected) -> None:
        with self._wake:
            if future not in self._voices:
                return  # the engine stopped, and the future has its error
            self._voices.remove(future)
        if isinstance(outcome, RequestRejected):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


def use_threads(num_threads: int) -> None:
    """Set torch's intra-op threads of this process before loading; 0 takes half of the usable cores."""
    round_rows_alike()
    torch.set_num_threads(num_threads or max(1, usable_cores() // 2))


def _require_sampling(sampling: SamplingParams) -> None:
    for name, draw in (("talker", sampling.talker), ("predictor", sampling.predictor)):
        _require_draw(name, draw)
    least, most = _PENALTIES
    if not least <= sampling.repetition_penalty <= most:
        raise RequestRejected(f"repetition_penalty should be {least} to {most}, is {sampling.repetition_penalty}")


def _require_draw(name: str, draw: TokenSampling) -> None:
    least, most = _TEMPERATURES
    if not (draw.temperature == 0 or least <= draw.temperature <= most):
        raise RequestRejected(f"{name} temperature should be 0 or {least} to {most}, is {draw.temperature}")
    if draw.top_k < 0:
        raise RequestRejected(f"{name} top_k should be 0 (off) or more, is {draw.top_k}")
    if not 0 < draw.top_p <= 1:
        raise RequestRejected(f"{name} top_p should be above 0 and at most 1, is {draw.top_p}")
