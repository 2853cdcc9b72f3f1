"""Build wheels and chart into a folder and check them: `python -m generators.release dist` (`make release`). No upload.

Each file is built twice, and both must be the same. Each Python that is here installs the client. This Python also
installs `rhapsode[all]` and narrates a sentence. Beside the wheels lie SHA256SUMS, the packages of that installation
(CycloneDX) and the provenance (in-toto). With CI=true a missing Python is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import wave
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import helm_python
from hatchling.builders.utils import get_reproducible_timestamp

ROOT = Path(__file__).resolve().parent.parent
VERSION = version("rhapsode")
PYTHONS = ("3.11", "3.12", "3.13")
SBOM_TOOL = "cyclonedx-bom==7.5.0"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"


def main() -> None:
    dist = Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve()
    with tempfile.TemporaryDirectory(prefix="rhapsode-release-") as scratch:
        files = built_twice(Path(scratch))
        shutil.rmtree(dist, ignore_errors=True)
        dist.mkdir(parents=True)
        for file in files:
            shutil.copy(file, dist)
        for python in pythons():
            check_client(python, dist, Path(scratch))
        environment = checked_whole(dist, Path(scratch))
        write_parts(environment, dist, Path(scratch))
    write_provenance(dist)
    write_sums(dist)
    for file in sorted(dist.iterdir()):
        say(f"{file.stat().st_size:>11,} {file.name}")


def built_twice(scratch: Path) -> list[Path]:
    first, second = ([*built(scratch / name)] for name in ("first", "second"))
    for one, other in zip(first, second, strict=True):
        if one.name != other.name or one.read_bytes() != other.read_bytes():
            sys.exit(f"{one.name} is not the same when it is built again")
    say(f"built twice, the same bytes: {', '.join(file.name for file in first)}")
    return first


def built(folder: Path) -> Iterator[Path]:
    for project, target in ((ROOT, "sdist"), (ROOT, "wheel"), (ROOT / "docker/voices", "wheel")):
        run(sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder), at=project)
    pack_chart(folder)
    yield from sorted(folder.iterdir())


def pack_chart(folder: Path, chart: Path = ROOT / "docker/helm/rhapsode") -> None:
    """As `helm push` takes it. Helm packs the times of files: here all have that of hatchling's archives."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(chart, Path(scratch) / chart.name)
        for each in copy.rglob("*"):
            os.utime(each, (get_reproducible_timestamp(), get_reproducible_timestamp()))
        helm_python.package(str(copy), destination=str(folder))


def pythons() -> Iterator[str]:
    """Commands of those that are here."""
    for number in PYTHONS:
        name = f"python{number}"
        if shutil.which(name) and not subprocess.run([name, "-c", ""], capture_output=True, check=False).returncode:
            yield name
        elif os.environ.get("CI") == "true":
            sys.exit(f"{name} is not here")
        else:
            say(f"SKIPPED: {name} is not here")


def check_client(python: str, dist: Path, scratch: Path) -> None:
    installed = new_environment(python, scratch / python)
    run(*pip(installed), "--find-links", str(dist), f"rhapsode=={VERSION}")
    found = run(str(installed / "rhapsode"), "--version").strip()
    run(str(installed / "python"), "-c", "import rhapsode; rhapsode.Rhapsode, rhapsode.AsyncRhapsode")
    say(f"{python}: the client installs: {found}")


def checked_whole(dist: Path, scratch: Path) -> Path:
    """The programs of an environment with `rhapsode[all]`, once it has narrated a sentence."""
    installed = new_environment(sys.executable, scratch / "all")
    constraints = ("--constraint", str(ROOT / "constraints.txt"))
    run(*pip(installed), *constraints, "--find-links", str(dist), f"rhapsode[all]=={VERSION}")
    (scratch / "text.txt").write_text("The ferry left at noon, and nobody looked back.\n")
    run(str(installed / "rhapsode"), "narrate", "text.txt", "--output", "speech.wav", "--data-dir", "data", at=scratch)
    with wave.open(str(scratch / "speech.wav")) as speech:
        seconds = speech.getnframes() / speech.getframerate()
    if seconds < 1:
        sys.exit(f"the installed wheels spoke a sentence in {seconds:.1f} s")
    say(f"rhapsode[all] installs and narrates {seconds:.1f} s")
    return installed


def write_parts(environment: Path, dist: Path, scratch: Path) -> None:
    tool = new_environment(sys.executable, scratch / "tool")
    run(*pip(tool), SBOM_TOOL)
    file = dist / f"rhapsode-{VERSION}.cdx.json"
    arguments = ("environment", "--output-reproducible", "--output-file", str(file), str(environment / "python"))
    run(str(tool / "cyclonedx-py"), *arguments)


def write_provenance(dist: Path) -> None:
    """From which commit, by what."""
    commit = run("git", "rev-parse", "HEAD").strip()
    if run("git", "status", "--porcelain").strip():
        say("this checkout differs from its commit: the provenance says so")
        commit += "+changes"
    inputs = ("constraints.txt", "pyproject.toml", "docker/voices/pyproject.toml")
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": file.name, "digest": {"sha256": sha256(file)}} for file in sorted(dist.iterdir())],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": "make release",
                "externalParameters": {"version": VERSION},
                "resolvedDependencies": [
                    {"uri": "git", "digest": {"gitCommit": commit}},
                    *({"uri": name, "digest": {"sha256": sha256(ROOT / name)}} for name in inputs),
                ],
            },
            "runDetails": {"builder": {"id": os.environ.get("GITHUB_WORKFLOW_REF", "local")}},
        },
    }
    (dist / f"rhapsode-{VERSION}.intoto.json").write_text(json.dumps(statement, indent=1) + "\n")


def write_sums(dist: Path) -> None:
    lines = [f"{sha256(file)}  {file.name}\n" for file in sorted(dist.iterdir())]
    (dist / "SHA256SUMS").write_text("".join(lines))


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def new_environment(python: str, folder: Path) -> Path:
    """The folder of its programs."""
    run(python, "-m", "venv", str(folder))
    return folder / "bin"


def pip(environment: Path) -> tuple[str, ...]:
    return (str(environment / "python"), "-m", "pip", "install", "--quiet")


def run(*command: str, at: Path = ROOT) -> str:
    """What it printed. It sees no settings and no packages of this checkout."""
    outcome = subprocess.run(command, cwd=at, env=environment(), stdout=subprocess.PIPE, text=True, check=False)
    if outcome.returncode:
        sys.exit(f"failed with status {outcome.returncode}: {' '.join(command)}")
    return outcome.stdout


def environment() -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RHAPSODE_"))}
    return kept | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
