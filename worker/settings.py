"""Settings of the workers and of the janitor, as environment variables with the prefix RHAPSODE_."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, assert_never

from pydantic import AfterValidator, Field, field_validator, model_validator

from storage.ids import WorkQueue
from storage.jobs.work_queues import CPU_QUEUE, Lane, speech_queue
from storage.live.address import MOST_ADDRESSES
from storage.runtime.config.settings import SettingsError, check_host
from worker.engine.cores import usable_cores
from worker.engine.kokoro.files import is_kokoro, obstacle, unnamed_checkpoint
from worker.engine.model.pulled import PACKAGED
from worker.engine.profiles import EngineReproducibility, ServingProfile
from worker.engine.settings import (
    GPU_SLOTS,
    LIVE_SLOTS,
    SLOTS,
    DecoderAddress,
    EngineSettings,
    FakeEngineSettings,
    KokoroEngineSettings,
    NativeEngineSettings,
    Precision,
    VllmEngineSettings,
    kind_of,
)
from worker.process.metrics_server import MeasuredSettings
from worker.speech.quality.recognisers.choice import RecogniserChoice

SMALL_VOICE = PACKAGED["small_voice"]

SLOTS_OF_A_POSTPROCESSOR = 32
"""A GPU that speaks thirty times real time in so many slots ends 4 segments a second for each of them, at 7 ms each."""

CORES_OF_TWO_INTERPRETERS = 8


class ItemSettings(MeasuredSettings):
    """What all processes that hand items back must agree on.

    max_attempts: tries of one item before its job fails.
    """

    max_attempts: int = Field(default=4, ge=1)


class WorkerSettings(ItemSettings):
    """A worker process that speaks: it has an engine.

    engine: `native` is the model; `vllm` has its talker in a stock vLLM; `fake` makes tones for tests of
        everything around it.
    device: cpu, mps, cuda or cuda:N.
    decoder_device: where codes become samples: empty for the engine's process, else one or more by commas: devices,
        with a process each, and ws:// addresses of decoder workers. Of a decoder worker: its own address.
    checkpoint: directory of the model in its published layout, or `kokoro` or `small_voice`, which come along. Unset,
        `kokoro` on a CPU where its packages are installed, else `small_voice`.
    checkpoints: directories of several models, of which the worker has one loaded at a time, `checkpoint` or the first
        of them to begin with, and another one when that is needed more; each model has its directory's name.
    model: the name jobs ask for; empty means the name of the checkpoint's directory.
    slots: segments the engine speaks at the same time. live_slots: utterances of live speech, beside them.
        Unset, the engine chooses: what a GPU's memory holds, up to 256 of each, else 16 and 4, and no more than Kokoro
        has cores. A `strict` engine computes all slots in each step, so it does not choose more.
    postprocessors: processes beside the worker that judge and store what was spoken; 0 has the worker do it, which is
        enough for some tens of slots. Unset, one for every 32 slots, and no more than there are cores.
    engine_threads: torch's CPU threads; 0 takes half of the cores.
    engine_profile: what an engine on a GPU trades, the wait of one against the speed of all.
    engine_reproducibility: `strict` gives a request equal codes in every batch on a GPU, at the cost of speed.
    engine_precision: `float8` halves a segment's cache on a GPU and makes the talker's MLPs faster. It rounds by some
        per cent.
    engine_watchdog_s: an engine that makes no step for so long while it has work is killed and started again.
    recogniser: what reads speech back for the quality gate `asr`.
    whisper_model: folder of a converted Whisper model, for languages other than English.
    live_host: where live speech is served, for API processes: the address to listen at, which is the one that they are
        told. Empty: the address that this machine has towards Redis.
    live_port: 0 for any that is free. A second live process has the next one.
    live_tls_certificate, live_tls_key: PEM files to serve live speech by TLS with, which API processes verify by
        their `tls_ca`.
    live_tls_name: the name in that certificate, where it is not `live_host`.
    fake_step_s: seconds the fake engine takes for a frame.
    worker_name: must be this process's alone and survive its restarts: a new process of this name takes back what
        the old one held. Empty draws a name, and a crash then costs a lease.
    lease_s: how long an item stays with a worker that fell silent.
    """

    lane: ClassVar[Lane] = Lane.GPU

    engine: Literal["native", "vllm", "fake"] = "native"
    device: str = "cpu"
    decoder_device: tuple[str, ...] = ()
    checkpoint: Path = Field(default_factory=lambda given: unnamed_checkpoint(given["engine"], given["device"]))
    checkpoints: tuple[Path, ...] = ()
    model: str = ""
    engine_reproducibility: EngineReproducibility = EngineReproducibility.BEST_EFFORT
    slots: int = Field(default_factory=lambda given: _unset_slots(given), ge=1, le=1024)
    live_slots: int | None = Field(default=None, ge=1, le=512)
    postprocessors: int | None = Field(default=None, ge=0, le=64)
    engine_threads: int = Field(default=0, ge=0, le=1024)
    engine_profile: ServingProfile = ServingProfile.BALANCED
    engine_precision: Precision = Precision.BFLOAT16
    engine_watchdog_s: float = Field(default=20.0, gt=0)
    recogniser: RecogniserChoice = RecogniserChoice.AUTO
    whisper_model: Path | None = None
    live_host: Annotated[str, AfterValidator(check_host)] = Field(default="", pattern=r"^[A-Za-z0-9.:_-]*$")
    live_port: int = Field(default=0, ge=0, le=65_536 - MOST_ADDRESSES)
    live_tls_certificate: Path | None = None
    live_tls_key: Path | None = None
    live_tls_name: str = ""
    fake_step_s: float = Field(default=0.005, ge=0)
    worker_name: str = Field(default="", pattern=r"^[A-Za-z0-9._-]*$")
    lease_s: float = Field(default=30.0, gt=0)

    @field_validator("decoder_device", mode="before")
    @classmethod
    def _devices(cls, value: object) -> object:
        return [each.strip() for each in value.split(",") if each.strip()] if isinstance(value, str) else value

    @field_validator("device", "decoder_device")
    @classmethod
    def _known_device(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for each in (value,) if isinstance(value, str) else value:
            if isinstance(value, tuple) and each.startswith(("ws:", "wss:")):
                DecoderAddress.parse(each)
            elif re.fullmatch(r"cpu|mps|cuda(:\d+)?", each) is None:
                raise ValueError(f"must be cpu, mps, cuda or cuda:N, not {each.rpartition('@')[2]}")
        return value

    @field_validator("checkpoint")
    @classmethod
    def _packaged(cls, value: Path) -> Path:
        return PACKAGED.get(str(value), value)

    @field_validator("checkpoints", mode="before")
    @classmethod
    def _folders(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        names = [each.strip() for each in value.split(",") if each.strip()]
        return [PACKAGED.get(name, Path(name)) for name in names]

    @model_validator(mode="after")
    def _choose_first_checkpoint(self) -> Self:
        if not self.checkpoints:
            return self
        names = [_name_of(each) for each in self.checkpoints]
        if len(set(names)) < len(names):
            raise ValueError("RHAPSODE_CHECKPOINTS: models have the names of their directories, and two are the same")
        if self.model:
            raise ValueError("RHAPSODE_MODEL is for one model: those of RHAPSODE_CHECKPOINTS are named by directory")
        if "checkpoint" not in self.model_fields_set:
            object.__setattr__(self, "checkpoint", self.checkpoints[0])
        elif self.checkpoint not in self.checkpoints:
            raise ValueError("RHAPSODE_CHECKPOINT, the one that is loaded first, is none of RHAPSODE_CHECKPOINTS")
        return self

    @model_validator(mode="after")
    def _keep_promises(self) -> Self:
        if self.engine == "vllm" and self.engine_reproducibility is EngineReproducibility.STRICT:
            raise ValueError(
                "RHAPSODE_ENGINE_REPRODUCIBILITY: vllm cannot be strict: its rounding depends on the batch"
            )
        if self.decoder_device and (self.engine == "fake" or self._speaks_kokoro):
            raise ValueError("RHAPSODE_DECODER_DEVICE: this engine has no decoder apart; leave it empty")
        is_native_on_gpu = self.engine == "native" and self.device.startswith("cuda")
        if self.engine_precision is Precision.FLOAT8 and not is_native_on_gpu:
            raise ValueError(
                "RHAPSODE_ENGINE_PRECISION: float8 is for the native engine on a GPU: set RHAPSODE_DEVICE=cuda"
            )
        return self

    @model_validator(mode="after")
    def _complete_live_tls(self) -> Self:
        if (self.live_tls_certificate is None) != (self.live_tls_key is None):
            raise ValueError("RHAPSODE_LIVE_TLS_CERTIFICATE and RHAPSODE_LIVE_TLS_KEY need each other")
        return self

    @property
    def _speaks_kokoro(self) -> bool:
        return self.engine == "native" and any(map(is_kokoro, (self.checkpoint, *self.checkpoints)))

    @property
    def model_name(self) -> str:
        """The name under which jobs ask for this worker's model."""
        if self.model or self.checkpoints:
            return self.model or _name_of(self.checkpoint)
        return "fake" if self.engine == "fake" else _name_of(self.checkpoint)

    @property
    def notice(self) -> str:
        """What who named no checkpoint must know of the voice."""
        is_named = self.checkpoints or "checkpoint" in self.model_fields_set
        is_left = self.engine == "native" and self.device == "cpu" and not is_named and bool(obstacle())
        return f"The small voice speaks: {obstacle()}" if is_left else ""

    @property
    def other_checkpoints(self) -> dict[str, Path]:
        """By the name of the model: what may be loaded in the place of `checkpoint`."""
        return {_name_of(each): each for each in self.checkpoints if each != self.checkpoint}

    @property
    def num_postprocessors(self) -> int:
        if self.postprocessors is not None:
            return self.postprocessors
        return min(self.slots // SLOTS_OF_A_POSTPROCESSOR, usable_cores())

    @property
    def num_fronts(self) -> int:
        """Processes that share the engine's slots: one interpreter is full at some 400 short jobs a second."""
        # Each would load the model that reads back.
        return 2 if self._has_cores_for_two and self.whisper_model is None else 1

    @property
    def num_live_processes(self) -> int:
        """Processes that share the engine's live slots: one interpreter is full at some 200 short streams a second."""
        return MOST_ADDRESSES if self._has_cores_for_two else 1

    @property
    def _has_cores_for_two(self) -> bool:
        return usable_cores() >= CORES_OF_TWO_INTERPRETERS and self.num_postprocessors > 1

    @property
    def num_places(self) -> int:
        """Segments that are under way at the same time. More than slots: while one leaves the engine, or is stored, the
        next already waits for its slot.
        """
        slots = self.engine_settings().slots
        return max(2, slots + slots // 2)

    @property
    def queue(self) -> WorkQueue:
        """Where this worker's items wait."""
        return speech_queue(self.model_name) if self.lane is Lane.GPU else CPU_QUEUE

    def require_checkpoints(self) -> None:
        """Raises `SettingsError` for a folder that is not there; of a packaged one, the engine says what to do."""
        for each in () if self.engine == "fake" else (self.checkpoint, *self.checkpoints):
            # `Path.is_dir` raises for a name that is too long.
            if each not in PACKAGED.values() and not os.path.isdir(each):
                name = "RHAPSODE_CHECKPOINTS" if self.checkpoints else "RHAPSODE_CHECKPOINT"
                raise SettingsError(f"{name}: there is no folder {str(each)[:200]}")

    def engine_settings(self) -> EngineSettings:
        few_live_slots = self.live_slots or LIVE_SLOTS
        match self.engine:
            case "native" if is_kokoro(self.checkpoint):
                cores = usable_cores()
                return KokoroEngineSettings(self.checkpoint, min(self.slots, cores), min(few_live_slots, cores))
            case "native":
                return NativeEngineSettings(
                    self.checkpoint,
                    self.slots,
                    self.live_slots,
                    self.device,
                    self.engine_threads,
                    self.engine_profile,
                    self.engine_reproducibility,
                    kv_precision=self.engine_precision,
                    mlp_precision=self.engine_precision,
                    decoder_devices=self.decoders,
                )
            case "vllm":
                return VllmEngineSettings(
                    self.checkpoint,
                    self.slots,
                    few_live_slots,
                    self.device,
                    self.engine_threads,
                    self.engine_profile,
                    decoder_devices=self.decoders,
                )
            case "fake":
                return FakeEngineSettings(self.slots, few_live_slots, self.fake_step_s)
            case _:
                assert_never(self.engine)

    @property
    def decoders(self) -> tuple[str | DecoderAddress, ...]:
        return tuple(
            DecoderAddress.parse(each, self.tls_ca) if each.startswith("ws") else each for each in self.decoder_device
        )

    def name_for(self, boot_id: str) -> str:
        """The worker's name: the configured one, else one that no other process has."""
        return self.worker_name or f"{socket.gethostname()}-{self.lane}-{boot_id[:8]}"


def _unset_slots(given: Mapping[str, object]) -> int:
    """given: the fields before it."""
    on_gpu = given["engine"] == "native" and str(given["device"]).startswith("cuda")
    return GPU_SLOTS if on_gpu and given["engine_reproducibility"] != EngineReproducibility.STRICT else SLOTS


def _name_of(checkpoint: Path) -> str:
    return checkpoint.absolute().name


class CpuWorkerSettings(WorkerSettings):
    """A worker process that plans and assembles."""

    lane: ClassVar[Lane] = Lane.CPU


class DecoderSettings(WorkerSettings):
    """A decoder worker, which uses neither Redis nor the store."""

    store: str = "s3://unused"

    @model_validator(mode="after")
    def _has_address(self) -> Self:
        kind, (first, *others) = kind_of(self.device), (*self.decoders, None)
        if others != [None] or not isinstance(first, DecoderAddress) or first.kind != kind:
            raise ValueError(f"RHAPSODE_DECODER_DEVICE: a decoder worker has one address, ws://:TOKEN@HOST:PORT/{kind}")
        return self
