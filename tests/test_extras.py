"""What each extra installs is enough for the programs that it is for."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docker.requirements import requirements
from rhapsode.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent
COMMAND_LINE = tuple(f"rhapsode.cli.{place.partition(':')[0]}" for _, place in COMMANDS.values())
PROGRAMS = {
    "": ("rhapsode.client", "rhapsode.webhooks", "rhapsode.__main__", *COMMAND_LINE),
    "api": ("api.server", "worker.webhooks.lifecycle", "worker.voices.reference_audio.__main__"),
    "worker": ("worker.lifecycle.start", "worker.janitor.__main__", "worker.planning.drafting.__main__"),
}
IMPORT_WITHOUT = """
import importlib, json, sys
refused, programs = json.loads(sys.argv[1])
class Refusing:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name in refused else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)
sys.meta_path[:] = map(Refusing, sys.meta_path)
for program in programs:
    importlib.import_module(program)
sys.argv[1:] = sys.argv[2:]
if sys.argv[1:]:
    sys.modules["rhapsode.__main__"].main()
"""
UNREACHABLE = "http://127.0.0.1:1"


@pytest.mark.parametrize("extra", PROGRAMS)
def test_its_programs_import_nothing_else(extra: str) -> None:
    outcome = run_with(extra)

    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("--help", "Turn texts into speech"),
        ("config show command-line", "RHAPSODE_SERVER_URL"),
        ("jobs list", f"no answer from {UNREACHABLE}"),
        ("voices list", f"no answer from {UNREACHABLE}"),
        ("workers", f"no answer from {UNREACHABLE}"),
        ("narrate LICENSE -o licence.wav", f"no answer from {UNREACHABLE}"),
        ("up", "pip install 'rhapsode[all]'"),
        ("config show api", "pip install 'rhapsode[api]'"),
    ],
)
def test_a_client_talks_to_servers_without_their_packages(command: str, answer: str) -> None:
    outcome = run_with("", *command.split(), environment=os.environ | {"RHAPSODE_SERVER_URL": UNREACHABLE})

    assert answer in outcome.stdout + outcome.stderr
    assert "Traceback" not in outcome.stderr


def run_with(
    extra: str, *command: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A process that has the packages of this extra alone, or of a client without one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    brought = installed_by([*requirements(project, extra.split())])
    modules = importlib.metadata.packages_distributions()
    others = [name for name, owners in modules.items() if not brought & {canonicalize_name(owner) for owner in owners}]
    refused = sorted({*others} - {"api", "reading", "rhapsode", "storage", "worker"})
    assert {"pytest", *(["pydantic_settings"] if not extra else [])} <= {*refused}
    asked = [sys.executable, "-c", IMPORT_WITHOUT, json.dumps([refused, PROGRAMS[extra]]), *command]
    return subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def installed_by(wanted: list[str]) -> set[str]:
    """Names of the distributions here that these requirements bring, with all that those require."""
    names = set[str]()
    left = [(Requirement(each), {""}) for each in wanted]
    while left:
        requirement, extras = left.pop()
        name = canonicalize_name(requirement.name)
        applies = requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras)
        if not applies or name in names:
            continue
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        names.add(name)
        left += [(Requirement(each), {*requirement.extras, ""}) for each in needs]
    return names
