"""The adapter for model runner V2, which no CPU can run, against the vLLM that it names: every name and argument."""

# vLLM lives in an environment of its own, where the type checker does not look.
# pyright: reportMissingImports=false, reportUnknownVariableType=false

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

from worker.engine.vllm import internals
from worker.engine.vllm.supported_versions import WITH_V2_HOOKS, installed

pytestmark = pytest.mark.skipif(
    (installed() or ("", ""))[1].partition("+")[0] not in WITH_V2_HOOKS,
    reason=f"needs vLLM {' or '.join(WITH_V2_HOOKS)}: make vllm-test",
)

BATCH_FIELDS_USED = {
    "cu_num_logits",
    "idx_mapping",
    "input_ids",
    "logits_indices",
    "num_reqs",
    "num_tokens",
    "num_tokens_after_padding",
    "positions",
    "seq_lens",
}


@pytest.fixture(scope="module")
def state_class() -> type[Any]:
    def nobodys(_: object) -> Any:
        raise AssertionError

    return internals.model_state_class(nobodys)


@pytest.mark.parametrize("name", ["__init__", "prepare_inputs", "prepare_dummy_inputs", "custom_sampler"])
def test_a_hook_of_ours_takes_what_vllm_hands_it(name: str, state_class: type[Any]) -> None:
    from vllm.v1.worker.gpu.model_states.interface import ModelState

    ours, theirs = (inspect.signature(getattr(owner, name)) for owner in (state_class, ModelState))

    assert list(ours.parameters) == list(theirs.parameters)


def test_vllm_asks_the_talker_for_its_state() -> None:
    from vllm.v1.worker.gpu.model_states import resolve_model_state_cls
    from vllm.v1.worker.gpu.model_states.interface import ModelState

    from worker.engine.vllm.talker_model import VllmTalkerV2

    talker = VllmTalkerV2.__new__(VllmTalkerV2)

    assert issubclass(resolve_model_state_cls(None, talker), ModelState)


def test_a_batch_has_what_the_hooks_read() -> None:
    from vllm.v1.worker.gpu.input_batch import InputBatch

    assert {field.name for field in dataclasses.fields(InputBatch)} >= BATCH_FIELDS_USED


def test_counts_are_asked_for_in_the_order_that_vllm_wants() -> None:
    from vllm.v1.worker.gpu.input_batch import get_num_sampled_and_rejected

    parameters = list(inspect.signature(get_num_sampled_and_rejected).parameters)

    assert parameters == ["num_sampled", "seq_lens", "cu_num_logits", "idx_mapping", "prefill_len"]


def test_what_a_sampler_returns_has_no_field_without_a_value() -> None:
    from vllm.v1.worker.gpu.sample.output import SamplerOutput

    wanted = [
        field.name
        for field in dataclasses.fields(SamplerOutput)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]

    assert wanted == ["sampled_token_ids", "logprobs_tensors", "num_nans", "num_sampled", "num_rejected"]


def test_a_sampler_is_called_with_logits_and_batch_and_knows_the_requests() -> None:
    from vllm.v1.worker.gpu.sample.sampler import Sampler

    assert list(inspect.signature(Sampler.__call__).parameters)[:3] == ["self", "logits", "input_batch"]
    assert "req_states" in inspect.signature(Sampler.__init__).parameters
