"""Alerts as operators get them: each is whole, and leads to a place in the runbook that exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tools.wanted import HOW_TO_GET_PROMETHEUS, find_prometheus, without

DOCKER = Path(__file__).resolve().parents[2] / "docker"
RULES = DOCKER / "prometheus" / "rules.yaml"
SERIES = DOCKER / "prometheus" / "rules_test.yaml"


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"] if "alert" in rule]


def anchor_of(heading: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def test_every_alert_says_what_is_wrong_how_grave_it_is_and_where_to_read_on() -> None:
    assert len(alerts()) > 10
    for rule in alerts():
        assert rule["labels"]["severity"] in ("page", "ticket"), rule["alert"]
        assert rule["annotations"]["summary"].endswith("."), rule["alert"]
        assert rule["expr"].count("(") == rule["expr"].count(")"), rule["alert"]


def test_every_runbook_line_leads_to_a_heading_that_exists() -> None:
    headings = re.findall(r"^## (.+)$", (DOCKER / "RUNBOOK.md").read_text(), flags=re.MULTILINE)
    anchors = {anchor_of(heading) for heading in headings}

    for rule in alerts():
        file, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert file == "docker/RUNBOOK.md"
        assert anchor in anchors, rule["alert"]


def test_the_runbook_lists_each_alert_with_its_urgency() -> None:
    pattern = r"^\| \[`(\w+)`\]\((#[a-z-]+)\) \| (\w+) \| .+ \|$"
    rows = re.findall(pattern, (DOCKER / "RUNBOOK.md").read_text(), re.MULTILINE)

    assert rows == [
        (
            rule["alert"],
            rule["annotations"]["runbook"].removeprefix("docker/RUNBOOK.md"),
            rule["labels"]["severity"],
        )
        for rule in alerts()
    ]


def test_every_command_of_the_runbook_exists() -> None:
    from typer.core import TyperGroup
    from typer.main import get_command

    from rhapsode.cli.main import command_line

    command = get_command(command_line())
    assert isinstance(command, TyperGroup)
    known = set(command.commands)
    named = set(re.findall(r"`rhapsode ([a-z]+)", (DOCKER / "RUNBOOK.md").read_text()))

    assert named <= known


def test_every_alert_is_tried_with_series_in_which_it_fires_and_in_which_it_does_not() -> None:
    tried = [each for test in yaml.safe_load(SERIES.read_text())["tests"] for each in test["alert_rule_test"]]
    fires = {each["alertname"] for each in tried if each.get("exp_alerts")}
    quiet = {each["alertname"] for each in tried if not each.get("exp_alerts")}

    assert fires == quiet == {rule["alert"] for rule in alerts()}


@pytest.mark.parametrize("command", [("check", "rules", RULES), ("test", "rules", SERIES)], ids=lambda each: each[0])
def test_prometheus_itself_finds_nothing(command: tuple[str | Path, ...]) -> None:
    promtool = find_prometheus("promtool")
    if promtool is None:
        without(HOW_TO_GET_PROMETHEUS)

    outcome = subprocess.run([promtool, *command], capture_output=True, text=True, check=False)

    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
