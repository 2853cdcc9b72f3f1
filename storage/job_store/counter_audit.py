"""Whether the counters are right: a count from the jobs themselves, in steps, while others work on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from uuid import uuid4

from storage.database.functions import Reply
from storage.errors import AuditOvertaken
from storage.job_store.calls import JobCalls

AUDIT_BATCH = 40
"""Jobs of one step of an audit: about a millisecond of the server's time."""


@dataclass(frozen=True, slots=True)
class CounterMismatch:
    """A counter that does not equal an audit: there is a bug, or Redis was edited by hand."""

    name: str
    expected: int
    actual: int


def differences(reply: Reply, of: str = "") -> list[CounterMismatch]:
    """What an audit's answer says. of: the scope that stands behind the names."""
    return [
        CounterMismatch(f"{row['name']}{of}", int(str(row["expected"])), int(str(row["actual"])))
        for row in reply.rows("drift")
    ]


class CounterAudits(JobCalls):
    """The part of the job store that counts again."""

    def audit_counters(self) -> tuple[CounterMismatch, ...]:
        """Compare every counter with a count from the jobs themselves; repairs nothing.

        Raises `AuditOvertaken` if another audit began meanwhile.
        """
        return tuple(chain.from_iterable(self.audit_steps()))

    def mend_counters(self) -> tuple[CounterMismatch, ...]:
        """As `audit_counters`, and every counter gets what was counted, in the same call; returns what differed."""
        return tuple(chain.from_iterable(self.audit_steps(mends=True)))

    def audit_steps(self, batch: int = AUDIT_BATCH, *, mends: bool = False) -> Iterator[list[CounterMismatch]]:
        """An audit as its steps, of about `batch` jobs each; gives what each has found, and `mends` it.

        Others work on in between, and the result is exact nevertheless: what has been counted is followed.
        """
        epoch, cursor = uuid4().hex, ""
        while cursor != "0":
            reply = self._functions.call("counter_audit", epoch=epoch, cursor=cursor, limit=batch, mends=mends)
            if reply.status == "overtaken":
                raise AuditOvertaken
            cursor = reply.text("cursor")
            yield differences(reply)
