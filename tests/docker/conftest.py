from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docker import compose_file

# Helm's code as a library is to be had for these: pyproject.toml.
HAS_HELM = sys.platform != "linux" or platform.machine() == "x86_64"
collect_ignore = [] if HAS_HELM else ["test_chart.py"]

DOCKER = Path(__file__).resolve().parents[2] / "docker"


@pytest.fixture(scope="session")
def compose() -> dict[str, Any]:
    """docker/compose.yaml without anybody's variables."""
    return compose_file.load(DOCKER / "compose.yaml", {})


@pytest.fixture(scope="session")
def drawn_secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that draw_secrets.py made."""
    folder = tmp_path_factory.mktemp("docker") / "secrets"
    subprocess.run([sys.executable, DOCKER / "draw_secrets.py", folder], check=True, capture_output=True)
    return folder
