"""Looking for GPUs, with what torch and the system say in their place: nothing else is faked."""

from __future__ import annotations

from pathlib import Path

import pytest

from rhapsode.stack.planning.gpus import find_gpus
from rhapsode.stack.planning.machine import Gpu

GIB = 1024**3
TWO = """
from types import SimpleNamespace as Facts
__version__, version = "2.9.1+cu128", Facts(cuda="12.8")
def get_num_threads(): return 16
places = [(0, 0x1B, 0), (0, 0xC3, 0)]
def told(number):
    found = Facts(name="NVIDIA H200", total_memory=150 * 2**30)
    found.pci_domain_id, found.pci_bus_id, found.pci_device_id = places[number]
    return found
print("a library that greets")
cuda = Facts(device_count=lambda: 2, get_device_properties=told)
"""
OLD = TWO.replace("    found.pci", "    return found\n    found.pci")
FOR_CPUS = """
from types import SimpleNamespace as Facts
__version__, version, cuda = "2.9.1+cpu", Facts(cuda=None), Facts(device_count=lambda: 0)
def get_num_threads(): return 2
"""


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    """A machine's /dev with NVIDIA's driver."""
    folder = tmp_path / "dev"
    folder.mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl", "null"):
        (folder / name).touch()
    return folder


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A machine's /sys: the second GPU is near the second socket, and nothing is known of the first."""
    for address, node in (("0000:1b:00.0", "-1"), ("0000:c3:00.0", "1")):
        folder = tmp_path / "sys" / "bus" / "pci" / "devices" / address
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(f"{node}\n")
    return tmp_path / "sys"


def with_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    """A torch of this text, for processes that are started from now on."""
    (tmp_path / "torch.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_gpus_are_those_that_torch_sees(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, devices: Path, system: Path
) -> None:
    with_torch(monkeypatch, tmp_path, TWO)

    found = find_gpus(is_asked=False, devices=devices, system=system)

    assert found.note == ""
    assert found.gpus == (
        Gpu("cuda:0", "NVIDIA H200", 150 * GIB, None),
        Gpu("cuda:1", "NVIDIA H200", 150 * GIB, 1),
    )


def test_a_torch_that_does_not_say_where_they_are_will_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, devices: Path, system: Path
) -> None:
    with_torch(monkeypatch, tmp_path, OLD)

    assert [gpu.node for gpu in find_gpus(is_asked=False, devices=devices, system=system).gpus] == [None, None]


def test_without_a_driver_torch_is_not_even_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_torch(monkeypatch, tmp_path, f"open({str(tmp_path / 'loaded')!r}, 'w')\n{TWO}")
    (tmp_path / "dev").mkdir()

    assert find_gpus(is_asked=False, devices=tmp_path / "dev").gpus == ()
    assert not (tmp_path / "loaded").exists()
    assert len(find_gpus(is_asked=True, devices=tmp_path / "dev").gpus) == 2


@pytest.mark.parametrize(
    ("code", "note"),
    [
        (FOR_CPUS, "torch 2.9.1+cpu is a build for CPUs"),
        (TWO.replace("lambda: 2", "lambda: 0"), "torch 2.9.1+cu128 sees none (CUDA_VISIBLE_DEVICES, the driver)"),
        ("raise OSError('libcuda.so.1 is broken')", "torch cannot be loaded: OSError: libcuda.so.1 is broken"),
        ("import os; os.abort()", "torch cannot be loaded: -6"),
        (TWO + "import json; json.dumps = repr", "torch gives an unknown answer"),
    ],
    ids=["for-cpus", "hidden", "broken", "crashes", "talks"],
)
def test_a_driver_without_a_torch_for_it_is_no_gpu_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, devices: Path, code: str, note: str
) -> None:
    with_torch(monkeypatch, tmp_path, code)

    found = find_gpus(is_asked=False, devices=devices)

    assert (found.gpus, found.note) == ((), note)
