"""What the engine says where vLLM is missing, or is another than it was tested with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from worker.engine.build import build_engine
from worker.engine.errors import EngineNotInstalled
from worker.engine.settings import VllmEngineSettings
from worker.engine.vllm.supported_versions import TESTED, complaint, installed

ROOT = Path(__file__).parents[4]


def install(folder: Path, name: str, version: str) -> None:
    """As far as the list of distributions goes."""
    metadata = folder / f"{name}-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")


@pytest.mark.skipif(installed() is not None, reason="vLLM is installed here")
def test_without_vllm_the_engine_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EngineNotInstalled, match=r"pip install 'rhapsode\[all,vllm\]'"):
        build_engine(VllmEngineSettings(tmp_path))


def test_a_version_that_was_not_tested_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(tmp_path, "vllm", "0.99.1")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(EngineNotInstalled, match=r"vllm 0\.99\.1 is installed; .* tested with 0\.26\.0 and 0\.32\.0 "):
        build_engine(VllmEngineSettings(tmp_path))


@pytest.mark.parametrize("build", ["", "+cu130"])
def test_builds_of_a_tested_version_are_all_the_same(
    build: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(tmp_path, "vllm", TESTED["vllm"][-1] + build)
    monkeypatch.syspath_prepend(tmp_path)

    assert complaint() is None


def test_companions_built_for_another_torch_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(tmp_path, "vllm", TESTED["vllm"][-1])
    install(tmp_path, "torch", "2.13.0+cpu")
    install(tmp_path, "torchvision", "0.28.0")
    install(tmp_path, "torchaudio", "2.13.0+cpu")
    monkeypatch.syspath_prepend(tmp_path)

    assert str(complaint()).startswith("torchvision came for CUDA beside a torch for CPUs")
    assert "pip uninstall torchvision (" in str(complaint())

    install(tmp_path, "torch", "2.13.0")
    (tmp_path / "torch-2.13.0+cpu.dist-info" / "METADATA").unlink()
    (tmp_path / "torch-2.13.0+cpu.dist-info").rmdir()
    assert complaint() is None


def test_the_page_and_the_extras_name_the_tested_versions() -> None:
    page = (ROOT / "worker/engine/README.md").read_text()
    named = re.findall(r"\d+\.\d+\.\d+", next(line for line in page.splitlines() if line.startswith("Tested: ")))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    assert set(named) == {version for versions in TESTED.values() for version in versions}
    for name, versions in TESTED.items():
        assert extras[name][-1].removeprefix(f"{name}==") in versions
