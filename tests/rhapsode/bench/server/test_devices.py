"""Memory and watts beside a measurement: NVIDIA's binding over a small library that answers as a driver does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rhapsode.bench.server.devices import DeviceUse, is_of_this_machine, joined_devices
from rhapsode.bench.server.report import ServerReport
from tests.environment import without_settings
from tests.rhapsode.bench.server.speech_servers import Manner, speech_server
from tests.tools.wanted import without

SOURCE = Path(__file__).with_name("fake_nvml.c")
USED_MIB = 21 * 1024


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        without("no C compiler here: `apt-get install gcc`")
    folder = tmp_path_factory.mktemp("driver")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", SOURCE], check=True)
    return folder


def bench(url: str, driver: Path, folder: Path, **environment: str) -> tuple[ServerReport, str]:
    command = [sys.executable, "-m", "rhapsode", "bench", "--url", url, "--target", "nari", "--streams", "1"]
    command += ["--seconds", "1", "--warm-up", "0", "--clients", "1", "--json", str(folder / "report.json")]
    mine = {**without_settings(os.environ), "LD_LIBRARY_PATH": str(driver), **environment}
    done = subprocess.run(command, env=mine, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ServerReport.read(folder / "report.json"), done.stdout


def load_table(said: str) -> list[list[str]]:
    """Cells of its heads and of its row."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in said.splitlines()]
    return [row for row in rows if row[0] in {"load", "1 stream"}]


def test_memory_and_watts_are_of_all_gpus_while_it_was_measured(driver: Path, tmp_path: Path) -> None:
    with speech_server("nari", Manner(pause_s=0.05)) as url:
        report, said = bench(url, driver, tmp_path)

    used = report.stages[0].devices
    assert used is not None
    assert (used.devices, used.memory_mib, used.watts) == (2, USED_MIB, pytest.approx(420.5))
    heads, row = load_table(said)
    joules = 420.5 / report.stages[0].summary.audio_s_per_s
    assert heads[-3:] == ["GPU MiB", "W", "J/audio s"]
    assert row[-3:] == ["21,504", "420", f"{joules:.2f}"]
    assert "all GPUs of this machine (2)" in said


def test_a_gpu_that_does_not_tell_its_power_tells_its_memory(driver: Path, tmp_path: Path) -> None:
    with speech_server("nari", Manner(pause_s=0.05)) as url:
        report, said = bench(url, driver, tmp_path, FAKE_NVML_NO_POWER="1")

    assert report.stages[0].devices == DeviceUse(2, USED_MIB, None)
    _, row = load_table(said)
    assert row[-3:] == ["21,504", "-", "-"]


def test_without_a_driver_nothing_is_said_of_gpus(driver: Path, tmp_path: Path) -> None:
    with speech_server("nari", Manner()) as url:
        report, said = bench(url, driver, tmp_path, FAKE_NVML_NO_DRIVER="1")

    assert report.stages[0].devices is None
    assert "GPU" not in said


def test_only_what_runs_here_is_beside_these_gpus() -> None:
    assert is_of_this_machine("http://127.0.0.1:8000")
    assert is_of_this_machine("http://localhost")
    assert is_of_this_machine("http://[::1]:8000")
    assert not is_of_this_machine("http://192.0.2.7:8000")
    assert not is_of_this_machine("http://nowhere.invalid")
    assert not is_of_this_machine("no address")


def test_windows_of_one_load_are_one() -> None:
    first, second = DeviceUse(2, 1000.0, 300.0), DeviceUse(2, 1200.0, 400.0)

    assert joined_devices([first, second]) == DeviceUse(2, 1200.0, 350.0)
    assert joined_devices([first, DeviceUse(2, 900.0, None)]) == DeviceUse(2, 1000.0, None)
    assert joined_devices([first, None]) is None
    assert joined_devices([]) is None
