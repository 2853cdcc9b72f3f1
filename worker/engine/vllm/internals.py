"""The only module that touches what vLLM keeps to itself. Tried with the versions in `supported_versions`.

Public in vLLM: the plugin entry point, the registries of models and configuration parsers, `LLMEngine`, `EngineArgs`.
These internals are used here: `Qwen3Model` and its loader; the engine runs in this process. `apply_model` returns the
model itself. Also the scheduler's list of requests, and the names of its settings in the environment.
"""

# vLLM is installed in a separate environment, which the type checker does not read.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportUntypedBaseClass=false

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from worker.engine.model.config import read_model_config
from worker.engine.vllm.captured_steps import row_ladder

CONFIG_FORMAT = "rhapsode-talker"
ARCHITECTURE = "RhapsodeTalker"
_MODEL = "worker.engine.vllm.talker_model:VllmTalker"

# One process with us, so that the model can be reached; no binding of threads to cores, because the codec
# runs beside the talker; nothing is reported. Model runner V1 is the one that calls the talker as it is written.
# The logits have one possible outcome, so vLLM need not import flashinfer to draw from them.
_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_USE_V2_MODEL_RUNNER": "0",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
}


# What runs in a forward pass is a global of vLLM's, so engines of one process take turns.
_TURN = threading.Lock()


@dataclass(frozen=True, slots=True)
class TalkerLimits:
    """num_slots: requests at the same time; capacity: positions of each; max_step_tokens: rows of one pass, of prompts
    and of frames, so longer prompts go in piece by piece; kv_bytes: memory for keys and values; kv_share: which part of
    a GPU that is, so that vLLM does not want nearly all of it free, None on a CPU."""

    num_slots: int
    capacity: int
    max_step_tokens: int
    kv_bytes: int
    kv_share: float | None

    @property
    def step_tokens(self) -> int:
        """Rows of the largest pass: no request waits for a frame."""
        return max(self.max_step_tokens, self.num_slots)


def register() -> None:
    """What `rhapsode.vllm_plugin` calls in each of vLLM's processes. Loads no model code."""
    _register(_MODEL)


def _register(model: str | type[nn.Module]) -> None:
    """A class, or where it is found. Who comes first decides."""
    from vllm import ModelRegistry
    from vllm.transformers_utils.config import register_config_parser
    from vllm.transformers_utils.config_parser_base import ConfigParserBase

    class TalkerConfigParser(ConfigParserBase):
        """The checkpoint's talker as the Qwen3 model that its layers are."""

        def parse(
            self,
            model: str | Path,
            trust_remote_code: bool,  # noqa: FBT001  (vLLM's signature)
            revision: str | None = None,
            code_revision: str | None = None,
            **_: Any,  # noqa: ANN401
        ) -> tuple[dict[str, Any], Any]:
            config = _layers_config(Path(model))
            return config.to_dict(), config

    if ARCHITECTURE not in ModelRegistry.get_supported_archs():
        register_config_parser(CONFIG_FORMAT)(TalkerConfigParser)
        ModelRegistry.register_model(ARCHITECTURE, model)


def _layers_config(checkpoint: Path) -> Any:  # noqa: ANN401
    """The talker's layers as transformers describes a Qwen3 model, which they are, but for the vocabulary.

    Raises CheckpointError.
    """
    from transformers import Qwen3Config

    talker = read_model_config(checkpoint / "config.json").talker
    transformer = talker.transformer
    return Qwen3Config(
        architectures=[ARCHITECTURE],
        hidden_size=transformer.hidden_size,
        intermediate_size=transformer.intermediate_size,
        num_hidden_layers=transformer.num_layers,
        num_attention_heads=transformer.num_heads,
        num_key_value_heads=transformer.num_kv_heads,
        head_dim=transformer.head_dim,
        rms_norm_eps=transformer.rms_norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": transformer.rope_theta},
        max_position_embeddings=talker.max_positions,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )


class StockEngine:
    """An unpatched `LLMEngine` over the talker of a checkpoint, in this process. Single-threaded."""

    def __init__(
        self,
        model: type[nn.Module],
        checkpoint: Path,
        dtype: torch.dtype,
        limits: TalkerLimits,
    ) -> None:
        """model: the class for `ARCHITECTURE`; vLLM would start a separate process to inspect a class that it only
        knows by name. Raises CheckpointError, from the model, and whatever vLLM raises.
        """
        os.environ.update(_ENVIRONMENT)
        from vllm.engine.arg_utils import EngineArgs
        from vllm.v1.engine.llm_engine import LLMEngine

        _register(model)
        # vLLM keeps its groups for the process. The end of an earlier engine removes them, so it comes first.
        gc.collect()
        arguments = EngineArgs(
            model=str(checkpoint),
            config_format=CONFIG_FORMAT,
            # Token ids are slots of the arena, and the one below them.
            hf_overrides={"vocab_size": limits.num_slots + 1, "max_position_embeddings": limits.capacity + 1},
            skip_tokenizer_init=True,
            generation_config="vllm",
            dtype=str(dtype).removeprefix("torch."),
            # The step that finds the end stands one behind the last frame.
            max_model_len=limits.capacity + 1,
            max_num_seqs=limits.num_slots,
            max_num_batched_tokens=limits.step_tokens,
            enable_chunked_prefill=True,
            # Prompts of different requests are the same tokens only if they have the same slot.
            enable_prefix_caching=False,
            kv_cache_memory_bytes=limits.kv_bytes,
            disable_log_stats=True,
            **_of_device(limits),
        )
        with torch.inference_mode(mode=False):
            self._engine = LLMEngine.from_engine_args(arguments, enable_multiprocessing=False)

    @property
    def model(self) -> nn.Module:
        return self._engine.apply_model(lambda model: model)[0]  # pyright: ignore[reportUnknownLambdaType]

    def add(self, name: str, token_ids: list[int], max_tokens: int, end_id: int) -> None:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        parameters = SamplingParams(
            temperature=0.0,
            max_tokens=max_tokens,
            stop_token_ids=[end_id],
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        self._engine.add_request(name, {"prompt_token_ids": token_ids}, parameters)

    def abort(self, name: str) -> None:
        self._engine.abort_request([name])

    def step(self) -> tuple[str, ...]:
        """The names of those that have ended."""
        with _TURN:
            outputs = self._engine.step()
        return tuple(output.request_id for output in outputs if output.finished)

    @property
    def num_preempted(self) -> int:
        """How often the running requests lost their keys and values to others and had them recomputed."""
        requests = self._engine.engine_core.engine_core.scheduler.requests
        return sum(request.num_preemptions for request in requests.values())


def _of_device(limits: TalkerLimits) -> dict[str, Any]:
    """On a GPU, each step is one CUDA graph, and is launched before the last one has ended.

    vLLM leaves steps with prompts out where its attention cannot capture them, as before Hopper.
    """
    if limits.kv_share is None:
        return {"enforce_eager": True, "async_scheduling": False}
    sizes = list(row_ladder(limits.step_tokens))
    graphs = {"mode": 0, "cudagraph_mode": "FULL", "cudagraph_capture_sizes": sizes}
    return {"gpu_memory_utilization": limits.kv_share, "compilation_config": graphs, "async_scheduling": True}


def talker_layers(vllm_config: Any, prefix: str) -> nn.Module:  # noqa: ANN401
    """vLLM's own Qwen3 layers with its attention over its cache."""
    from vllm.model_executor.models.qwen3 import Qwen3Model

    return Qwen3Model(vllm_config=vllm_config, prefix=prefix)


def load_into(module: nn.Module, weights: Iterable[tuple[str, Tensor]]) -> set[str]:
    """Published names are stacked and cast as vLLM's layers want them; the names of what was filled."""
    from vllm.model_executor.models.utils import AutoWeightsLoader

    return AutoWeightsLoader(module).load_weights(weights)
