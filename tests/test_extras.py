"""What each extra installs is enough for the programs that it is for."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docker.requirements import requirements

ROOT = Path(__file__).parent.parent
PROGRAMS = {
    "api": ("api.server", "worker.webhooks.lifecycle", "worker.voices.reference_audio.__main__"),
    "worker": ("worker.lifecycle.start", "worker.janitor.__main__", "worker.planning.drafting.__main__"),
}
IMPORT_WITHOUT = """
import importlib, json, sys
refused, programs = json.loads(sys.argv[1])
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name in refused:
            raise ModuleNotFoundError(f"no extra brings {name}")
sys.meta_path.insert(0, Refusing())
for program in programs:
    importlib.import_module(program)
"""


@pytest.mark.parametrize("extra", PROGRAMS)
def test_its_programs_import_nothing_else(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    brought = installed_by([*requirements(project, [extra])])
    modules = importlib.metadata.packages_distributions()
    others = [name for name, owners in modules.items() if not brought & {canonicalize_name(owner) for owner in owners}]
    refused = sorted({*others} - {"api", "reading", "rhapsode", "storage", "worker"})
    asked = json.dumps([refused, PROGRAMS[extra]])

    outcome = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT, asked], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert "pytest" in refused
    assert outcome.returncode == 0, outcome.stderr


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
