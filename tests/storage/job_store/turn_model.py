"""Whose turn it is, as plain Python: one ring of tenants, each with a line of jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from storage.ids import JobId, TenantId

QUANTUM_MS = 15_000


@dataclass
class LinedJob:
    id: JobId
    cost_ms: int
    ready: int


@dataclass
class TurnModel:
    """`lines`: jobs with claimable work by tenant; no entry without any. `ring`: those tenants, next first.

    `early`: inf for a tenant in the turn that it got on arrival, or the number of `turns` from which it may have one.
    """

    ring: list[TenantId] = field(default_factory=list)
    lines: dict[TenantId, list[LinedJob]] = field(default_factory=dict)
    credit_ms: dict[TenantId, int] = field(default_factory=dict)
    early: dict[TenantId, float] = field(default_factory=dict)
    turns: int = 0

    def enter(self, tenant: TenantId, job: LinedJob) -> None:
        self.lines.setdefault(tenant, []).append(job)
        if len(self.lines[tenant]) > 1:
            return
        place = len(self.ring)
        if tenant not in self.early:
            place = sum(self.early.get(each) == inf for each in self.ring)
            self.early[tenant] = inf
        self.ring.insert(place, tenant)
        self.credit_ms[tenant] = QUANTUM_MS

    def leave(self, tenant: TenantId, job: JobId) -> None:
        """Whatever the job had ready is gone; nothing if it had none."""
        if tenant not in self.lines or job not in {each.id for each in self.lines[tenant]}:
            return
        self.lines[tenant] = [each for each in self.lines[tenant] if each.id != job]
        if self.lines[tenant]:
            return
        del self.lines[tenant]
        if self.early.get(tenant) == inf or self.ring[0] == tenant:
            self._end_turn(tenant)
        self.ring.remove(tenant)
        if self.ring:
            self.early[tenant] = self.turns + len(self.ring)
        else:
            self.early.clear()

    def claim(self) -> tuple[TenantId, LinedJob] | None:
        while self.ring:
            tenant = self.ring[0]
            job = self.lines[tenant][0]
            if self.credit_ms[tenant] >= job.cost_ms:
                self._serve(tenant, job)
                return tenant, job
            self.credit_ms[tenant] += QUANTUM_MS
            self._end_turn(tenant)
            self.ring.append(self.ring.pop(0))
        return None

    def _serve(self, tenant: TenantId, job: LinedJob) -> None:
        self.credit_ms[tenant] -= job.cost_ms
        job.ready -= 1
        if job.ready:
            self.lines[tenant].append(self.lines[tenant].pop(0))
        else:
            self.leave(tenant, job.id)

    def _end_turn(self, tenant: TenantId) -> None:
        if self.early.get(tenant) == inf:
            del self.early[tenant]
        else:
            self.turns += 1
            self.early = {each: until for each, until in self.early.items() if until > self.turns}
