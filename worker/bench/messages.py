"""What a measured engine is asked for, and what it says, one line of JSON each. Plain values: no torch is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SMALL_VOICE = Path(__file__).resolve().parents[1] / "small_voice"


@dataclass(frozen=True, slots=True)
class EngineTask:
    """One engine, what it is to do, and how long all of that may take.

    checkpoint: a folder in the published layout. draw_size: of the random weights to write there if it is absent.
    slots: as many as are wanted, of which memory may allow fewer. streams: requests in flight, one closed loop each.
    first_running: how many others speak and are heard beside a first audio. frames: of a request, least and most.
    words: a text file to take words from. seconds: what is not begun by then is left out.
    """

    checkpoint: str
    draw_size: str | None
    device: str
    profile: str
    precision: str
    slots: int
    streams: tuple[int, ...]
    first_running: tuple[int, ...]
    frames: tuple[int, int]
    words: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Begins:
    """The stage that the messages up to the next of these are about."""

    stage: str
    kind: Literal["begins"] = "begins"


@dataclass(frozen=True, slots=True)
class Device:
    """capability, memory_bytes: of a GPU. torch, triton: versions; None where it is not installed."""

    device: str
    name: str
    capability: str | None
    memory_bytes: int | None
    torch: str
    triton: str | None
    kind: Literal["device"] = "device"


@dataclass(frozen=True, slots=True)
class Card:
    """Slots on a GPU of so much memory, of so many positions each. slots: 0 where the model does not fit."""

    gib: int
    slots: int
    positions: int


@dataclass(frozen=True, slots=True)
class Started:
    """checkpoint_s: to write random weights. start_s: to load, compile and capture. cards: none without a GPU."""

    checkpoint_s: float
    start_s: float
    slots: int
    memory_bytes: int
    cards: tuple[Card, ...]
    kind: Literal["started"] = "started"


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """`streams` requests were always in flight; audio and requests are those delivered within the window.

    memory_bytes: taken on the device at its end, by all processes; on a CPU the most this one has had.
    """

    streams: int
    window_s: float
    requests: int
    audio_s_per_s: float
    real_time_per_stream: float
    memory_bytes: int
    kind: Literal["closed_loop"] = "closed_loop"


@dataclass(frozen=True, slots=True)
class FirstAudio:
    """From submit to the first samples of an interactive request, while `running` others speak and are heard."""

    running: int
    waits_ms: tuple[float, ...]
    kind: Literal["first_audio"] = "first_audio"


@dataclass(frozen=True, slots=True)
class Failed:
    """is_final: what was asked for can never work here, so that there is no use in another try."""

    stage: str
    error: str
    is_final: bool = False
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True)
class LeftOut:
    stage: str
    why: str
    kind: Literal["left_out"] = "left_out"


Message = Begins | Device | Started | ClosedLoop | FirstAudio | Failed | LeftOut

START_STAGE = "start"


def streams_stage(streams: int) -> str:
    return f"{streams} streams" if streams > 1 else "1 stream"


def first_audio_stage(running: int) -> str:
    return f"first audio beside {running}" if running else "first audio alone"
