"""The wheel as `pip` installs it, beside packages that are called as ours are in a checkout."""

from __future__ import annotations

import importlib.metadata
import json
import os
import site
import subprocess
import sys
import venv
import wave
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.environment import without_settings

ROOT = Path(__file__).resolve().parent.parent
OURS = ("api", "reading", "storage", "worker")
VERSION = importlib.metadata.version("rhapsode")
DESCRIPTION, VOICES_DESCRIPTION = f"rhapsode-{VERSION}.dist-info", f"rhapsode_voices-{VERSION}.dist-info"
PLUGIN = """
import importlib.metadata, json, logging, sys
logging.basicConfig(level="INFO")
plugin = importlib.metadata.entry_points(group="vllm.general_plugins")["rhapsode"].load()
plugin()
print(json.dumps([plugin.__module__, "worker" in sys.modules]))
"""
CLIENT = """
import json, sys, rhapsode, rhapsode.webhooks
rhapsode.Rhapsode, rhapsode.AsyncRhapsode
print(json.dumps([rhapsode.__file__, sys.path, sorted(sys.modules.keys() & {"api", "reading", "storage", "worker"})]))
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment of its own, and a folder to work in; what Rhapsode needs is found in the tests' environment."""

    root: Path
    work: Path

    @property
    def packages(self) -> Path:
        return self.root / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"

    def pip(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", str(self.root / "bin" / "python"), *arguments]
        subprocess.run(command, check=True, capture_output=True)

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """In the folder to work in, with nothing of the tests' own environment that says where packages lie."""
        command = [str(self.root / "bin" / "python"), *arguments]
        return subprocess.run(command, cwd=self.work, env=environment(), capture_output=True, text=True, check=False)

    def answer(self, program: str) -> list[object]:
        outcome = self.python("-P", "-c", program)
        assert outcome.returncode == 0, outcome.stderr
        return json.loads(outcome.stdout)

    def installed_files(self) -> set[Path]:
        lines = (self.packages / DESCRIPTION / "RECORD").read_text().splitlines()
        return {self.packages / line.split(",")[0] for line in lines}


def environment() -> Mapping[str, str]:
    return {name: value for name, value in without_settings(os.environ).items() if not name.startswith("PYTHON")}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The code, then the voices."""
    folder = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    for project in (ROOT, ROOT / "docker/voices"):
        subprocess.run(build, cwd=project, check=True, capture_output=True)
    return sorted(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installation(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Ours, then the other package over it."""
    folder = tmp_path_factory.mktemp("installation")
    installation = Installation(folder / "environment", folder / "work")
    venv.create(installation.root, symlinks=True)
    install = ("install", "--no-deps", "--no-index", "--no-compile")
    installation.pip(*install, *map(str, wheels))
    installation.pip(*install, str(hostile_wheel(folder)))
    (installation.packages / "needed.pth").write_text("".join(f"{path}\n" for path in site.getsitepackages()))
    for name in OURS:
        write_hostile_package(installation.work / name)
    return installation


def hostile_wheel(folder: Path) -> Path:
    """A distribution that brings packages called as ours are."""
    path = folder / "hostile-1.0-py3-none-any.whl"
    info = "hostile-1.0.dist-info"
    files = {f"{name}/__init__.py": HOSTILE for name in OURS} | {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]))
    return path


HOSTILE = "raise RuntimeError('this package is another one')\n"


def write_hostile_package(folder: Path) -> None:
    """Where the wheel has not been removed, its own is there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text(HOSTILE)


def test_the_code_and_the_voices_are_two_wheels_below_one_name(wheels: list[Path]) -> None:
    code, voices = ({*zipfile.ZipFile(wheel).namelist()} for wheel in wheels)

    assert {name.split("/")[0] for name in code | voices} == {"rhapsode", DESCRIPTION, VOICES_DESCRIPTION}
    assert code & voices == set()
    tracked = subprocess.run(["git", "ls-files", *OURS], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {f"rhapsode/_system/{name}" for name in tracked.splitlines()} <= code | voices
    assert "rhapsode/py.typed" in code
    assert "rhapsode/_system/worker/small_voice/model.safetensors" in voices
    assert wheels[0].stat().st_size < 2_800_000


@pytest.mark.parametrize(
    ("part", "command"),
    [
        ("small_voice", "doctor --checkpoint small_voice"),
        ("speech/alignment/weights", "doctor"),
        ("speech/alignment/weights", "narrate sentence.txt -o sentence.wav --data-dir without"),
    ],
)
def test_without_the_voices_a_server_names_their_package(installation: Installation, part: str, command: str) -> None:
    (installation.work / "sentence.txt").write_text("The crow found a pitcher.")
    voices = installation.packages / "rhapsode/_system/worker" / part
    voices.rename(voices.with_name("elsewhere"))
    try:
        told = installation.python("-m", "rhapsode", *command.split())
    finally:
        voices.with_name("elsewhere").rename(voices)

    assert told.returncode == 1
    assert "pip install 'rhapsode[voices]'" in told.stdout + told.stderr
    assert "Traceback" not in told.stderr


def test_it_narrates_beside_the_other_package_whose_removal_takes_nothing_of_ours(installation: Installation) -> None:
    (installation.work / "sentence.txt").write_text("The crow found a pitcher.")

    told = installation.python("-m", "rhapsode", "narrate", "sentence.txt", "-o", "sentence.wav", "--data-dir", "data")

    assert told.returncode == 0, told.stderr
    with wave.open(str(installation.work / "sentence.wav")) as speech:
        assert speech.getnframes() > 0.5 * speech.getframerate()
    ours = installation.installed_files()
    assert {file for file in ours if not file.is_file()} == set()
    installation.pip("uninstall", "--yes", "hostile")
    assert not (installation.packages / "storage").exists()
    assert {file for file in ours if not file.is_file()} == set()


def test_it_measures_the_machine_beside_the_other_package(installation: Installation) -> None:
    told = installation.python("-m", "rhapsode", "bench", "--device", "cpu", "--streams", "1", "--json", "report.json")

    assert told.returncode == 0, told.stderr
    report = json.loads((installation.work / "report.json").read_text())
    assert report["ended"] == "complete"
    assert report["environment"]["commit"] is None
    assert [row["streams"] for row in report["models"][0]["closed_loop"]] == [1]


def test_a_program_that_imports_the_client_sees_nothing_of_the_system(installation: Installation) -> None:
    file, path, loaded = installation.answer(CLIENT)

    assert file == str(installation.packages / "rhapsode" / "__init__.py")
    assert isinstance(path, list)
    assert not [folder for folder in path if "_system" in folder]
    assert loaded == []


def test_a_vllm_of_another_program_is_left_as_it_is(installation: Installation) -> None:
    write_hostile_package(installation.packages / "worker")

    assert installation.answer(PLUGIN) == ["rhapsode.vllm_plugin", False]
