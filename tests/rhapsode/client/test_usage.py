"""Usage and quotas on the command line, over a whole stack."""

from __future__ import annotations

import csv
import io

from rhapsode import Rhapsode
from rhapsode.stack.stack import Stack
from tests.rhapsode.conftest import RunCli


def test_usage_is_shown_as_a_table_and_as_csv(stack: Stack, client: Rhapsode, run_cli: RunCli) -> None:
    before = client.usage().total.characters
    client.wait(client.submit_job("Counted once."), timeout_s=120)

    shown = run_cli("usage", "--by", "day", "--server", stack.url)
    table = run_cli("usage", "--csv", "--server", stack.url)
    wrong = run_cli("usage", "--from", "2026-02-02", "--to", "2026-02-01", "--server", stack.url)

    assert shown.returncode == table.returncode == 0
    heading, *_, total = shown.stdout.splitlines()
    assert heading.split() == ["day", "key_id", "segments", "characters", "audio_s", "cached_audio_s", "engine_s"]
    assert total.startswith("total")
    rows = list(csv.DictReader(io.StringIO(table.stdout)))
    assert sum(int(row["characters"]) for row in rows) >= before + len("Counted once.")
    assert wrong.returncode != 0
    assert len(wrong.stderr.splitlines()) == 1


def test_quotas_are_set_shown_and_reset(stack: Stack, run_cli: RunCli) -> None:
    given = run_cli("quotas", "set", "acme", "--jobs", "5", "--voices", "1000000", "--server", stack.url)
    reset = run_cli("quotas", "reset", "acme", "--server", stack.url)
    shown = run_cli("quotas", "show", "acme", "--server", stack.url)

    lines = [line.split() for line in given.stdout.splitlines()]
    assert lines[0] == ["jobs", "0", "of", "5", "(its", "own)"]
    assert lines[2][0::2] == ["voices", "of", "(its"]
    assert lines[2][3] == "1,000,000"
    assert reset.stdout == "acme has the limits of all tenants\n"
    assert [line.split() for line in shown.stdout.splitlines()][2][-1] == "100,000"
