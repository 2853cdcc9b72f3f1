"""The only module that touches what vLLM keeps to itself. Tried with the versions in `supported_versions`.

Public in vLLM: the plugin entry point, the registries of models and configuration parsers, `LLMEngine`, `EngineArgs`.
Internal, and used here: `Qwen3Model` and its loader, that the engine runs in this process, that `apply_model` hands
out the model itself, the scheduler's list of requests, the hooks of model runner V2, and the names of its settings in
the environment.
"""

# vLLM lives in an environment of its own, where the type checker does not look.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportUntypedBaseClass=false

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from worker.engine.settings import VllmRunner
from worker.engine.vllm.arena import Arena

CONFIG_FORMAT = "rhapsode-talker"
ARCHITECTURE = "RhapsodeTalker"
_MODEL = "worker.engine.vllm.talker_model:VllmTalkerV1"

# One process with us, so that the model can be reached; no binding of threads to cores, because the codec
# runs beside the talker; nothing is reported.
_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
}
_RUNNER_VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"
_RUNNERS: dict[VllmRunner, tuple[str, dict[str, Any]]] = {
    VllmRunner.V1: ("0", {"enforce_eager": True}),
    VllmRunner.V2: ("1", {"compilation_config": {"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY"}}),
}
"""What each is chosen by, and how it runs the model."""


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


def register() -> None:
    """What `rhapsode.vllm_plugin` calls in each of vLLM's processes. Loads no model code."""
    _register(_MODEL)


def _register(model: str | type[nn.Module]) -> None:
    """A class, or where it is found. Who comes first decides."""
    from vllm import ModelRegistry
    from vllm.transformers_utils.config import register_config_parser
    from vllm.transformers_utils.config_parser_base import ConfigParserBase

    from worker.engine.vllm.talker_config import layers_config

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
            config = layers_config(Path(model), ARCHITECTURE)
            return config.to_dict(), config

    if ARCHITECTURE not in ModelRegistry.get_supported_archs():
        register_config_parser(CONFIG_FORMAT)(TalkerConfigParser)
        ModelRegistry.register_model(ARCHITECTURE, model)


class StockEngine:
    """An unpatched `LLMEngine` over the talker of a checkpoint, in this process. Single-threaded."""

    def __init__(
        self,
        model: type[nn.Module],
        runner: VllmRunner,
        checkpoint: Path,
        dtype: torch.dtype,
        limits: TalkerLimits,
    ) -> None:
        """model: the class for `ARCHITECTURE`; vLLM would start a process of its own to look at one that it only knows
        by name. Raises CheckpointError, from the model, and whatever vLLM raises.
        """
        choice, execution = _RUNNERS[runner]
        if limits.kv_share is not None:
            execution = {**execution, "gpu_memory_utilization": limits.kv_share}
        os.environ.update(_ENVIRONMENT)
        os.environ[_RUNNER_VARIABLE] = choice
        from vllm.engine.arg_utils import EngineArgs
        from vllm.v1.engine.llm_engine import LLMEngine

        _register(model)
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
            max_num_batched_tokens=max(limits.max_step_tokens, limits.num_slots),
            enable_chunked_prefill=True,
            # Prompts of different requests are the same tokens only if they have the same slot.
            enable_prefix_caching=False,
            async_scheduling=False,
            kv_cache_memory_bytes=limits.kv_bytes,
            disable_log_stats=True,
            **execution,
        )
        with torch.inference_mode(mode=False):
            self._engine = LLMEngine.from_engine_args(arguments, enable_multiprocessing=False)

    @property
    def model(self) -> nn.Module:
        return self._engine.apply_model(_itself)[0]

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
        """How often those that run now have lost their keys and values to others, and had them computed anew."""
        requests = self._engine.engine_core.engine_core.scheduler.requests
        return sum(request.num_preemptions for request in requests.values())


def model_state_class(arena_of: Callable[[nn.Module], Arena]) -> type[Any]:
    """What model runner V2 asks of a model that has state of its own. Written against the hooks of 0.32.0, which a
    test holds it to; NOT RUN YET.

    Inputs are written into a buffer that captured graphs read, and frames are made where vLLM would sample, so both
    stay outside of what is captured.
    """
    from vllm.v1.worker.gpu.input_batch import get_num_sampled_and_rejected
    from vllm.v1.worker.gpu.model_states.default import DefaultModelState
    from vllm.v1.worker.gpu.sample.output import SamplerOutput

    class FrameSampler:
        """Takes hidden states for logits. For all else the runner asks of a sampler, it is the one that was there."""

        def __init__(self, sampler: Any, arena: Arena) -> None:  # noqa: ANN401
            self._sampler = sampler
            self._arena = arena

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401
            return getattr(self._sampler, name)

        def __call__(self, hidden: Tensor, batch: Any) -> Any:  # noqa: ANN401
            last = batch.logits_indices
            tokens = self._arena.speak(hidden, batch.input_ids[last].long(), batch.positions[last])
            num_sampled, num_rejected = get_num_sampled_and_rejected(
                batch.seq_lens.new_ones(batch.num_reqs),
                batch.seq_lens,
                batch.cu_num_logits,
                batch.idx_mapping,
                self._sampler.req_states.prefill_len.gpu,
            )
            return SamplerOutput(
                sampled_token_ids=tokens.view(-1, 1),
                logprobs_tensors=None,
                num_nans=None,
                num_sampled=num_sampled,
                num_rejected=num_rejected,
            )

    class TalkerState(DefaultModelState):
        def __init__(self, vllm_config: Any, model: nn.Module, encoder_cache: Any, device: torch.device) -> None:  # noqa: ANN401
            super().__init__(vllm_config, model, encoder_cache, device)
            self._arena = arena_of(model)
            shape = (self.max_num_tokens, self.inputs_embeds_size)
            self._inputs = torch.zeros(shape, dtype=self.dtype, device=device)

        def prepare_inputs(self, input_batch: Any, req_states: Any) -> dict[str, Any]:  # noqa: ANN401
            num_tokens = input_batch.num_tokens
            ids, positions = input_batch.input_ids[:num_tokens].long(), input_batch.positions[:num_tokens]
            self._inputs[:num_tokens] = self._arena.inputs(ids, positions)
            inputs = self._inputs[: input_batch.num_tokens_after_padding]
            return {**super().prepare_inputs(input_batch, req_states), "inputs_embeds": inputs}

        def prepare_dummy_inputs(self, num_reqs: int, num_tokens: int) -> dict[str, Any]:
            dummy = super().prepare_dummy_inputs(num_reqs, num_tokens)
            return {**dummy, "inputs_embeds": self._inputs[:num_tokens]}

        def custom_sampler(self, sampler: Any) -> tuple[Any, Any]:  # noqa: ANN401
            return FrameSampler(sampler, self._arena), None

    return TalkerState


def talker_layers(vllm_config: Any, prefix: str) -> nn.Module:  # noqa: ANN401
    """vLLM's own Qwen3 layers with its attention over its cache."""
    from vllm.model_executor.models.qwen3 import Qwen3Model

    return Qwen3Model(vllm_config=vllm_config, prefix=prefix)


def load_into(module: nn.Module, weights: Iterable[tuple[str, Tensor]]) -> set[str]:
    """Published names are stacked and cast as vLLM's layers want them; the names of what was filled."""
    from vllm.model_executor.models.utils import AutoWeightsLoader

    return AutoWeightsLoader(module).load_weights(weights)


def _itself(model: nn.Module) -> nn.Module:
    return model
