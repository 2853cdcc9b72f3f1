"""The machine that the pages show, in place of the one that the tests run on."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace

from rich.console import Console

from rhapsode.cli.local.stack_display import Narrator
from rhapsode.stack.events import ProcessesPlanned
from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.machine import Core, MachineFacts
from rhapsode.stack.planning.plan import StackPlan, plan_processes
from rhapsode.stack.planning.this_machine import plan_stack
from rhapsode.stack.planning.wishes import wishes_of

SHOWN = MachineFacts((Core(0, 0), Core(1, 1)), allowance=2, memory_bytes=round(23.5 * 1024**3))


def as_on_shown_machine(said: str, options: StackOptions, environment: Mapping[str, str]) -> str:
    """What `rhapsode up` says, with the plan for the shown machine. It must have told the plan for this one."""
    told = _told(plan_stack(options, environment))
    assert told in said, f"{told}is not in what it said:\n{said}"
    unasked = wishes_of(replace(options, devices=()), environment)
    return said.replace(told, _told(plan_processes(SHOWN, unasked)))


def _told(plan: StackPlan) -> str:
    written = io.StringIO()
    console = Console(file=written)
    Narrator(console, console.status(""))(ProcessesPlanned(plan))
    return written.getvalue()
