"""Every pinned dependency against the database of known vulnerabilities: `make audit`.

pip-audit takes "this package is unknown here" for a pass, which is what a mirror without the database answers about
everything. So a release that is known to be vulnerable is looked up first, and what was skipped is no pass either.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from json import JSONDecodeError, loads
from pathlib import Path

ROOT = Path(__file__).parents[2]

CONTROL = "jinja2==2.4.1"
"""Has had entries in every database since 2014."""

CLEAN, VULNERABLE, NOT_AUDITED = 0, 1, 2


class NotAudited(Exception):
    """Nothing can be said about the dependencies."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """skip_reason: why nothing is known of it; empty if it was looked up."""

    name: str
    version: str
    vulnerabilities: tuple[str, ...] = ()
    skip_reason: str = ""


def read_report(output: str) -> list[Dependency]:
    """pip-audit's JSON. Raises `NotAudited`."""
    try:
        entries = loads(output)["dependencies"]
    except (JSONDecodeError, KeyError, TypeError) as error:
        raise NotAudited("pip-audit gave no report") from error
    return [
        Dependency(
            entry["name"],
            entry.get("version", ""),
            tuple(
                f"{each['id']} (fixed in {', '.join(each['fix_versions']) or 'no release'})"
                for each in entry.get("vulns", ())
            ),
            entry.get("skip_reason", ""),
        )
        for entry in entries
    ]


def check_control(found: Sequence[Dependency]) -> None:
    """Raises `NotAudited` if the database does not know what everybody knows."""
    if not any(dependency.vulnerabilities for dependency in found):
        raise NotAudited(
            f"the vulnerability database cannot be reached: it has nothing about {CONTROL}, which is vulnerable"
        )


def verdict(found: Sequence[Dependency]) -> tuple[int, list[str]]:
    """The exit status, and what to print."""
    vulnerable = [each for each in found if each.vulnerabilities]
    skipped = [each for each in found if each.skip_reason]
    lines = [f"VULNERABLE  {each.name} {each.version}: {'; '.join(each.vulnerabilities)}" for each in vulnerable]
    lines += [f"NOT AUDITED {each.name}: {each.skip_reason}" for each in skipped]
    lines.append(f"{len(found)} dependencies, {len(vulnerable)} vulnerable, {len(skipped)} not audited")
    if vulnerable:
        return VULNERABLE, lines
    return (NOT_AUDITED if skipped or not found else CLEAN), lines


def audit(requirements: Path) -> list[Dependency]:
    """Look up what this file pins. Raises `NotAudited`."""
    command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--progress-spinner", "off"]
    outcome = subprocess.run(
        [*command, "--format", "json", "--requirement", str(requirements)], capture_output=True, text=True, check=False
    )
    try:
        return read_report(outcome.stdout)
    except NotAudited as error:
        last_words = outcome.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise NotAudited(f"{error}: {last_words[0]}") from error


def main() -> None:
    try:
        with tempfile.TemporaryDirectory() as folder:
            control = Path(folder) / "control.txt"
            control.write_text(CONTROL)
            check_control(audit(control))
        status, lines = verdict(audit(ROOT / "constraints.txt"))
    except NotAudited as error:
        sys.stderr.write(f"no audit took place: {error}\n")
        sys.exit(NOT_AUDITED)
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(status)


if __name__ == "__main__":
    main()
