"""The units of systemd: systemd itself finds nothing wrong, and each starts a process that exists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rhapsode.cli.local.run import ProcessKind
from rhapsode.stack.backing import choose_backing, refuse_unknown, storage_settings
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import StackOptions
from rhapsode.stack.processes import shared_environment
from storage.runtime.config.settings import SETTING_NAMES
from tests.command_line import CLI
from tests.docker.conftest import DOCKER
from tests.rhapsode.conftest import clean_environment
from tests.tools.wanted import without

UNITS = sorted((DOCKER / "systemd").glob("rhapsode*.[st]*"))
SERVICES = [path for path in UNITS if path.suffix == ".service"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_finds_nothing_wrong(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        without("no systemd-analyze here: `apt-get install systemd`")
    for each in UNITS:
        # The command of this environment in place of that of /opt, which is not here; no user of that name either.
        text = each.read_text().replace("/opt/rhapsode/bin/rhapsode", CLI)
        (tmp_path / each.name).write_text(text)
    name = unit.name.replace("@.", "@0.")

    outcome = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", tmp_path / name],
        capture_output=True,
        text=True,
        check=False,
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")


def test_every_process_has_a_unit() -> None:
    started = {found for path in SERVICES for found in re.findall(r"rhapsode run ([a-z-]+)", path.read_text())}

    assert started == set(ProcessKind)


@pytest.mark.parametrize("path", [*SERVICES, DOCKER / "systemd" / "rhapsode.env"], ids=lambda path: path.name)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    assert set(re.findall(r"\bRHAPSODE_[A-Z0-9_]+\b", path.read_text())) <= SETTING_NAMES


def test_rhapsode_up_starts_with_the_file_as_it_is_shipped(tmp_path: Path) -> None:
    shell = ["sh", "-c", 'set -a; . "$1"; env -0', "sh", DOCKER / "systemd" / "rhapsode.env"]
    printed = subprocess.run(shell, env=clean_environment(), capture_output=True, text=True, check=True).stdout
    environment = dict(line.split("=", 1) for line in printed.split("\0") if line)
    data_dir = DataDir(tmp_path)
    data_dir.create()

    refuse_unknown(environment)
    backing = choose_backing(environment, data_dir)
    settings = storage_settings(shared_environment(environment, data_dir, StackOptions(tmp_path), backing.environment))

    assert environment["RHAPSODE_LOG_FORMAT"] == "json"
    assert backing.server is not None
    assert settings.store == data_dir.objects.as_uri()


@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)
def test_a_service_may_change_nothing_but_its_own_state(service: Path) -> None:
    lines = service.read_text().splitlines()

    assert {"User=rhapsode", "NoNewPrivileges=yes", "ProtectSystem=strict", "StateDirectory=rhapsode"} <= set(lines)
    assert "CapabilityBoundingSet=" in lines
