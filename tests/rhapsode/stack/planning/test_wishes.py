"""Options and settings of a start, and which of them wins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rhapsode.stack.errors import PlanRefused
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.wishes import Wishes, wishes_of
from rhapsode.stack.state_file import Lifetime
from worker.engine.kokoro import files

CHECKPOINTS = ("RHAPSODE_CHECKPOINT", "RHAPSODE_CHECKPOINTS")
SERVER = StackOptions(Path("/data"), lifetime=Lifetime.SERVER)


def test_a_server_of_a_checkpoint_leaves_the_choice_to_the_machine() -> None:
    named = replace(SERVER, checkpoint=Path("/models/large"))

    for wishes in (wishes_of(named, {}), *(wishes_of(SERVER, {name: "/models/large"}) for name in CHECKPOINTS)):
        assert wishes == Wishes()
        assert wishes.may_want_gpus


def test_without_a_checkpoint_kokoro_speaks_on_the_cpu_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for environ in ({}, {"RHAPSODE_CHECKPOINT": "kokoro"}):
        wishes = wishes_of(SERVER, environ)
        assert (wishes.devices, wishes.devices_reason) == (("cpu",), "Kokoro speaks on the CPU")

    assert wishes_of(SERVER, {"RHAPSODE_ENGINE": "vllm"}) == Wishes()
    monkeypatch.setattr(files, "PARTS", ("kokoro_that_is_not_here",))
    assert wishes_of(SERVER, {}) == Wishes()


def test_a_stack_for_one_command_is_small_unless_told_otherwise() -> None:
    wishes = wishes_of(StackOptions(Path("/data")), {})
    assert (wishes.devices, wishes.api_processes, wishes.cpu_workers) == (("cpu",), 1, 1)
    assert not wishes.may_want_gpus

    named = wishes_of(StackOptions(Path("/data"), devices=("cuda:0", "cuda:1")), {})
    assert (named.devices, named.api_processes) == (("cuda:0", "cuda:1"), 1)


def test_the_option_wins_over_the_setting_and_both_over_the_machine() -> None:
    environ = {"RHAPSODE_DEVICE": "cuda:1, cuda:2", "RHAPSODE_ENGINE_THREADS": "3"}
    named = StackOptions(Path("/data"), devices=("cpu",), lifetime=Lifetime.SERVER)

    assert wishes_of(SERVER, environ).devices == ("cuda:1", "cuda:2")
    assert wishes_of(SERVER, environ).engine_threads == 3
    assert (wishes_of(named, environ).devices, wishes_of(named, environ).devices_source) == (("cpu",), "--device")
    with pytest.raises(PlanRefused, match=r"^RHAPSODE_DEVICE: cuda:0 is named twice"):
        wishes_of(SERVER, {"RHAPSODE_DEVICE": "cuda,cuda:0"})


def test_an_engine_without_a_model_takes_no_gpu_unless_it_is_named() -> None:
    assert wishes_of(SERVER, {"RHAPSODE_ENGINE": "fake"}).devices == ("cpu",)
    assert wishes_of(SERVER, {"RHAPSODE_ENGINE": "fake", "RHAPSODE_DEVICE": "cuda:0"}).devices == ("cuda:0",)
