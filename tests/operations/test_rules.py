"""Alerts as operators get them: each is whole, and leads to a place in the runbook that exists."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

DOCKER = Path(__file__).resolve().parents[2] / "docker"


def alerts() -> list[dict]:
    groups = yaml.safe_load((DOCKER / "prometheus" / "rules.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"] if "alert" in rule]


def test_every_alert_says_what_is_wrong_how_grave_it_is_and_where_to_read_on() -> None:
    assert len(alerts()) > 10
    for rule in alerts():
        assert rule["labels"]["severity"] in ("page", "ticket"), rule["alert"]
        assert rule["annotations"]["summary"].endswith("."), rule["alert"]
        assert rule["expr"].count("(") == rule["expr"].count(")"), rule["alert"]


def test_every_runbook_line_leads_to_a_heading_that_exists() -> None:
    headings = re.findall(r"^## (.+)$", (DOCKER / "RUNBOOK.md").read_text(), flags=re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}

    for rule in alerts():
        file, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert file == "docker/RUNBOOK.md"
        assert anchor in anchors, rule["alert"]


def test_every_command_of_the_runbook_exists() -> None:
    from typer.main import get_command

    from rhapsode.cli.main import app

    known = set(get_command(app).commands)  # type: ignore[attr-defined]
    named = set(re.findall(r"`rhapsode ([a-z]+)", (DOCKER / "RUNBOOK.md").read_text()))

    assert named <= known
