"""The plan for the machine that this process runs on."""

from __future__ import annotations

from collections.abc import Mapping

from rhapsode.stack.options import StackOptions
from rhapsode.stack.planning.gpus import FoundGpus, find_gpus
from rhapsode.stack.planning.machine import read_machine
from rhapsode.stack.planning.plan import StackPlan, plan_processes
from rhapsode.stack.planning.wishes import wishes_of


def plan_stack(options: StackOptions, environ: Mapping[str, str]) -> StackPlan:
    """The processes of a stack on this machine. Raises `PlanRefused`. Where there are GPUs it takes seconds."""
    wishes = wishes_of(options, environ)
    found = find_gpus(is_asked=bool(wishes.devices)) if wishes.may_want_gpus else FoundGpus()
    return plan_processes(read_machine(found.gpus, found.note), wishes)
