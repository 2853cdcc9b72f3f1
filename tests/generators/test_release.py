"""The parts of a release that no other test covers: versions that agree, sums, and provenance."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

from generators import release

ROOT = release.ROOT


def test_both_wheels_have_one_version_and_users_get_no_extra_of_ours() -> None:
    projects = (ROOT / "pyproject.toml", ROOT / "docker/voices/pyproject.toml")
    code, voices = (tomllib.loads(file.read_text())["project"] for file in projects)

    assert code["version"] == voices["version"] == release.VERSION
    assert f"rhapsode-voices=={release.VERSION}" in code["optional-dependencies"]["voices"]
    assert not {"dev", "docs", "training"} & code["optional-dependencies"].keys()
    assert not [each for each in code["classifiers"] if each.startswith("Private")]


def test_sums_and_provenance_are_of_the_files_that_lie_there(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"code")

    release.write_provenance(tmp_path)
    release.write_sums(tmp_path)

    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True, capture_output=True)
    (said,) = tmp_path.glob("*.intoto.json")
    statement = json.loads(said.read_text())
    assert statement["subject"] == [{"name": "a.whl", "digest": {"sha256": release.sha256(tmp_path / "a.whl")}}]
    commit = statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"]["gitCommit"]
    assert commit.startswith(release.run("git", "rev-parse", "HEAD").strip())
