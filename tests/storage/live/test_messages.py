"""What the API and a worker say of live speech arrives as it was said, and nothing else is taken for a message."""

from __future__ import annotations

import json
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rhapsode.contract.jobs.input import Normalization, Pauses
from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.options import Reproducibility, Sampling
from rhapsode.contract.voices.modes import CacheMode
from storage.ids import TenantId, VoiceId
from storage.live.messages import (
    MAX_MESSAGE_BYTES,
    Audio,
    CancelStream,
    Consumed,
    ExtendStream,
    FromWorker,
    Hello,
    LiveLoad,
    MessageMalformed,
    Open,
    Opened,
    OpenRefused,
    Resume,
    SegmentBegins,
    SegmentSpoken,
    StreamDone,
    StreamFailed,
    ToWorker,
    decode_from_worker,
    decode_to_worker,
    encode_message,
    split_audio,
)
from storage.live.orders import LiveOrder, LiveTextMode
from storage.narration.voice_reference import SourceKind, VoiceReference, VoiceSource

OWN_VOICE = VoiceReference(
    VoiceId("voc_1"),
    "mine",
    3,
    "small",
    CacheMode.IN_CONTEXT,
    VoiceSource(SourceKind.RECORDING, "voices/t/1", "00", 12, "audio/wav", duration_s=1.5),
    "what it says",
)
ORDER = LiveOrder(
    tenant=TenantId("acme"),
    narration=Narration(
        model="small",
        voice="mine",
        language="english",
        instructions="softly",
        seed=2**53 - 1,
        sampling=Sampling(temperature=0.5, top_k=3, max_new_tokens=100),
        pauses=Pauses(sentence_s=0.0),
        normalization=Normalization.BASIC,
        reproducibility=Reproducibility.STRICT,
    ),
    own_voice=OWN_VOICE,
    text="Hello\u2028wörld 你好 \U0001f389",
    text_is_open=True,
    text_mode=LiveTextMode.PER_FRAME,
    dictionaries=("pronunciations/acme/pd_1/1.jsonl",),
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)

TO_WORKER: tuple[ToWorker, ...] = (
    Open(stream="s-1", order=ORDER),
    Open(stream="s_1", order=ORDER, resume=Resume(segment=3, num_samples_heard=1_920)),
    ExtendStream(stream="s", text=" more", is_last=False),
    ExtendStream(stream="s", text="", is_last=True),
    Consumed(stream="s", num_samples=24_000),
    CancelStream(stream="s"),
)
FROM_WORKER: tuple[FromWorker, ...] = (
    Hello(
        worker="gpu-0",
        model="small",
        revision="r",
        sample_rate_hz=24_000,
        samples_per_frame=1_920,
        num_codebooks=16,
        live_slots=8,
    ),
    Opened(stream="s"),
    OpenRefused(stream="s", code="full", detail="no place", retry_after_s=0.5),
    SegmentBegins(stream="s", index=0, text="Hello."),
    Audio(stream="s", segment=0, num_frames=2, num_samples=3_000),
    SegmentSpoken(stream="s", segment=0),
    StreamDone(stream="s", findings=("too_long",), segments=1, num_samples=3_000),
    StreamFailed(stream="s", code="engine_died", detail="it died"),
    LiveLoad(free=7, live_slots=8, step_ms=1.5),
)


@pytest.mark.parametrize("head", TO_WORKER, ids=lambda head: head.type)
def test_what_the_api_says_arrives(head: ToWorker) -> None:
    received = decode_to_worker(encode_message(head))

    assert received.head == head
    assert received.payload == b""


@pytest.mark.parametrize("head", FROM_WORKER, ids=lambda head: head.type)
def test_what_a_worker_says_arrives(head: FromWorker) -> None:
    assert decode_from_worker(encode_message(head)).head == head


@given(text=st.text(st.characters(codec="utf-8"), max_size=200), codes=st.binary(max_size=100))
def test_any_text_and_any_codes_arrive(text: str, codes: bytes) -> None:
    head = Open(
        stream="s",
        order=LiveOrder(tenant=TenantId("t"), narration=Narration(model="m", voice=""), text=text),
        resume=Resume(segment=0),
    )

    received = decode_to_worker(encode_message(head, codes))

    assert received.head == head
    assert received.payload == codes


@given(st.binary(max_size=200))
def test_garbage_is_malformed_and_nothing_else(garbage: bytes) -> None:
    for decode in (decode_to_worker, decode_from_worker):
        with pytest.raises(MessageMalformed):
            decode(garbage)


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_message_is_read_or_malformed(position: int, byte: int) -> None:
    message = bytearray(encode_message(TO_WORKER[0]))
    message[position] = byte
    for cut in (bytes(message), bytes(message[:position])):
        with suppress(MessageMalformed):
            decode_to_worker(cut)


def test_a_refusal_says_nothing_of_what_it_read() -> None:
    with pytest.raises(MessageMalformed) as refused:
        decode_to_worker(_raw({"type": "open", "stream": "s", "order": {"tenant": "acme", "text": ["secret"]}}))

    assert "acme" not in str(refused.value)
    assert "secret" not in str(refused.value)


def _raw(head: object, payload: bytes = b"") -> bytes:
    said = json.dumps(head).encode()
    return struct.pack("<I", len(said)) + said + payload


@pytest.mark.parametrize(
    "message",
    [
        _raw({"type": "shutdown", "stream": "s"}),
        _raw({"type": "cancel", "stream": "s", "more": 1}),
        _raw({"type": "cancel", "stream": "../../etc"}),
        _raw({"type": "cancel", "stream": "s\n"}),
        _raw({"type": "cancel", "stream": "s" * 65}),
        _raw({"type": "cancel"}),
        _raw({"type": "consumed", "stream": "s", "num_samples": -1}),
        _raw({"type": "consumed", "stream": "s", "num_samples": "7"}),
        _raw({"type": "extend", "stream": "s", "text": "x" * 65_537, "is_last": False}),
        _raw({"type": "open", "stream": "s", "order": {"tenant": "t", "model": "m", "seed": -1}}),
        _raw({"type": "open", "stream": "s", "order": {"tenant": "t", "model": "m", "text": 5}}),
        _raw({"type": "cancel", "stream": "s"}, b"x"),
        _raw({"type": "open", "stream": "s", "order": {"tenant": "t", "model": "m"}}, b"codes of nothing"),
        _raw([[[[]]]]),
        struct.pack("<I", 2**32 - 1) + b"{}",
        bytes(MAX_MESSAGE_BYTES + 1),
    ],
)
def test_what_breaks_the_rules_is_malformed(message: bytes) -> None:
    with pytest.raises(MessageMalformed):
        decode_to_worker(message)


def test_audio_is_divided_into_samples_and_codes() -> None:
    head = Audio(stream="s", segment=0, num_frames=2, num_samples=3)
    received = decode_from_worker(encode_message(head, b"abcdef", b"x" * 64))

    assert isinstance(received.head, Audio)
    parts = split_audio(received.head, received.payload, 16)

    assert (parts.samples, parts.codes) == (b"abcdef", b"x" * 64)
    with pytest.raises(MessageMalformed):
        split_audio(received.head, received.payload[:-1], 16)
