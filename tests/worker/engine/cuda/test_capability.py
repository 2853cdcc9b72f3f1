"""Which path a device is given, by a capability that no device here has."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from worker.engine.cuda.capability import CudaDevice, DevicePath, path_for, require_plain, require_precisions
from worker.engine.errors import StartError
from worker.engine.profiles import EngineReproducibility
from worker.engine.settings import NativeEngineSettings, Precision

# As torch 2.11 for CUDA 12.8 says of itself.
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120")
DEVICE = CudaDevice("a device", (9, 0), TARGETS, has_triton=True)
SETTINGS = NativeEngineSettings(Path("nowhere"), device="cuda")


@pytest.mark.parametrize("capability", [(8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (10, 3)])
def test_from_8_0_to_10_the_kernels_run_and_nothing_is_said(
    capability: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assert path_for(replace(DEVICE, capability=capability)) is DevicePath.KERNELS

    assert not caplog.records


def test_a_newer_device_runs_the_kernels_and_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    assert path_for(replace(DEVICE, capability=(12, 0))) is DevicePath.KERNELS

    assert "a device (capability 12.0): newer than any device" in caplog.text


def test_an_older_device_has_the_plain_path_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    assert path_for(replace(DEVICE, capability=(7, 5))) is DevicePath.PLAIN

    assert "capability 7.5): our kernels need capability 8.0, so the plain path" in caplog.text


def test_a_device_without_triton_has_the_plain_path_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    assert path_for(replace(DEVICE, has_triton=False)) is DevicePath.PLAIN

    assert "Triton is not installed" in caplog.text


@pytest.mark.parametrize("capability", [(3, 7), (6, 1), (7, 0)])
def test_what_torch_was_not_built_for_is_refused_in_one_line(capability: tuple[int, int]) -> None:
    with pytest.raises(StartError, match=r"a device .*was built for sm_75, .*RHAPSODE_DEVICE=cpu") as refusal:
        path_for(replace(DEVICE, capability=capability))

    assert "\n" not in str(refusal.value)


def test_code_of_another_line_of_chips_is_none_and_what_is_in_ptx_runs_on_later_ones() -> None:
    only_hopper = replace(DEVICE, torch_targets=("sm_90a",))

    with pytest.raises(StartError, match=r"capability 10\.0"):
        path_for(replace(only_hopper, capability=(10, 0)))
    assert path_for(replace(only_hopper, capability=(10, 0), torch_targets=("compute_90",))) is DevicePath.KERNELS


def test_eight_bits_are_refused_where_the_device_has_none() -> None:
    settings = replace(SETTINGS, kv_precision=Precision.FLOAT8)

    with pytest.raises(StartError, match=r"no numbers of eight bits.*this is 8\.6"):
        require_precisions(settings, replace(DEVICE, capability=(8, 6)))
    require_precisions(settings, replace(DEVICE, capability=(8, 9)))
    require_precisions(SETTINGS, replace(DEVICE, capability=(8, 0)))


def test_what_only_the_kernels_keep_is_refused_on_the_plain_path() -> None:
    with pytest.raises(StartError, match="no eight bits"):
        require_plain(replace(SETTINGS, mlp_precision=Precision.FLOAT8))
    with pytest.raises(StartError, match="strict"):
        require_plain(replace(SETTINGS, reproducibility=EngineReproducibility.STRICT))
    require_plain(SETTINGS)
