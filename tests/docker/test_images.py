"""What builds images: `make images` and the forge's workflow make every image that the chart asks for."""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docker.conftest import DOCKER

ROOT = DOCKER.parent
IMAGES = {"rhapsode-api:{}", "rhapsode-worker:{}-cpu", "rhapsode-worker:{}-cuda"}


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / "images.yaml").read_text())["jobs"]["image"]


def test_make_builds_what_the_chart_asks_for() -> None:
    command = [
        "make",
        "--dry-run",
        "images",
        "REGISTRY=r.example.org/s/",
        "BASE=debian:x@sha256:ab",
        "CONTAINER_TOOL=buildah",
    ]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    lines = [line for line in said.splitlines() if line.startswith("buildah build ")]
    tags = {found for line in lines for found in re.findall(r"--tag (\S+)", line)}
    assert tags == {f"r.example.org/s/{name.format(version('rhapsode'))}" for name in IMAGES}
    assert all("--build-arg BASE=debian:x@sha256:ab" in line for line in lines)
    assert all((ROOT / found).is_file() for line in lines for found in re.findall(r"--file (\S+)", line))


def test_the_workflow_builds_the_same_from_one_base(job: dict[str, Any]) -> None:
    made = job["strategy"]["matrix"]["include"]
    (build,) = (step["with"] for step in job["steps"] if "build-push-action" in step.get("uses", ""))

    assert {f"{each['name']}:{{}}{each['suffix']}" for each in made} == IMAGES
    assert all((ROOT / each["file"]).is_file() for each in made)
    assert (build["sbom"], build["provenance"]) == (True, "mode=max")
    assert "BASE=${{ steps.base.outputs.reference }}" in build["build-args"]


@pytest.mark.parametrize("dockerfile", sorted(DOCKER.glob("*.Dockerfile")), ids=lambda path: path.name)
def test_every_image_takes_another_base(dockerfile: Path) -> None:
    assert "ARG BASE=debian:bookworm-slim\n" in dockerfile.read_text()


def test_the_release_s_workflow_uploads_what_make_release_makes() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yaml").read_text())["jobs"]

    assert {"run": "make release"} in jobs["wheels"]["steps"]
    assert jobs["index"]["needs"] == "wheels"
    assert all("id-token" in jobs[name]["permissions"] for name in ("wheels", "index"))
    assert jobs["chart"]["permissions"] == {"packages": "write"}
    assert "helm push dist/rhapsode-*.tgz " in jobs["chart"]["steps"][-1]["run"]
