"""How an engine was set up: what its rounding depends on besides the checkpoint, and whether other requests in the
batch change it. Pure but for one line of the log.

An engine's profile is resolved to its numbers here, so that a release that changes them gives another digest.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import assert_never

from worker.engine.interface import EngineInfo
from worker.engine.profiles import PROFILES, EngineReproducibility
from worker.engine.settings import (
    EngineSettings,
    FakeEngineSettings,
    KokoroEngineSettings,
    NativeEngineSettings,
    VllmEngineSettings,
    kind_of,
)

logger = logging.getLogger(__name__)


def configured(info: EngineInfo, settings: EngineSettings) -> EngineInfo:
    """What an engine says of itself, with its configuration, which is logged in its resolved form."""
    text = json.dumps(_resolved(settings, info.slots), sort_keys=True)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    logger.info("engine configuration", extra={"configuration": text, "config_sha256": sha256})
    return replace(info, config_sha256=sha256, reproducibility=reproducibility_of(settings))


def _resolved(settings: EngineSettings, slots: int) -> dict[str, object]:
    """slots: those there are, of which memory may allow fewer than were wanted."""
    match settings:
        case NativeEngineSettings():
            return {
                **_of_torch("native", settings, slots),
                "reproducibility": settings.reproducibility.value,
                "kv_precision": settings.kv_precision.value,
                "mlp_precision": settings.mlp_precision.value,
            }
        case VllmEngineSettings():
            return {**_of_torch("vllm", settings, slots), "max_step_tokens": settings.max_step_tokens}
        case KokoroEngineSettings():
            return {"engine": "kokoro", "onnxruntime": version("onnxruntime")}
        case FakeEngineSettings():
            return {"engine": "fake", "slots": slots}
        case _:
            assert_never(settings)


def _of_torch(engine: str, settings: NativeEngineSettings | VllmEngineSettings, slots: int) -> dict[str, object]:
    """Without decoders of the engine's own kind of device: they round as the one in its process would."""
    kinds = sorted(set(map(kind_of, settings.decoder_devices)))
    return {
        "engine": engine,
        "device": kind_of(settings.device),
        "num_threads": settings.num_threads,
        "profile": settings.profile.value,
        "parameters": asdict(PROFILES[settings.profile]),
        "slots": slots,
        **({} if set(kinds) <= {kind_of(settings.device)} else {"decoders": kinds}),
    }


def reproducibility_of(settings: EngineSettings) -> EngineReproducibility:
    """On a CPU the native engine's rows round alike in any batch; vLLM's do not, and no mode of it makes them."""
    match settings:
        case NativeEngineSettings():
            return EngineReproducibility.STRICT if settings.device == "cpu" else settings.reproducibility
        case VllmEngineSettings():
            return EngineReproducibility.BEST_EFFORT
        case KokoroEngineSettings() | FakeEngineSettings():
            return EngineReproducibility.STRICT
        case _:
            assert_never(settings)
