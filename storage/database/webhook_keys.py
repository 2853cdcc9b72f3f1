"""Every Redis key of webhooks; `database.keys` has the root of all."""

from __future__ import annotations

from storage.database.keys import RedisKeys
from storage.ids import DeliveryId, EndpointId, JobId, Target, TenantId

SUBROOT = ":w"

FAMILIES = {
    "endpoint": "hash: the endpoint's record",
    "endpoints": "sorted set per tenant: every endpoint id, in order of the ids",
    "routes": "hash per tenant: enabled endpoint -> the events it wants, comma-separated, or *",
    "gone": "string per deleted endpoint: its tenant, for 7 days",
    "secrets": "hash per tenant: the secrets that sign what goes to URLs of jobs",
    "delivery": "hash: one event for one target; expires a while after its end",
    "attempts": "list per delivery: its attempts as JSON, oldest first",
    "log": "sorted set per target: its deliveries by the time of their event",
    "ended": "sorted set per target: its deliveries that ended, by when",
    "waiting": "sorted set per target: deliveries that wait for an attempt -> when it is due",
    "flying": "sorted set per target: delivery|fence of the attempts under way -> end of the lease",
    "target": "hash per target: whether it ever took a delivery, and its failures since the last it took",
    "of_job": "sorted set per job: its deliveries by the time of their event",
    "holder": "hash per worker name: delivery|fence -> boot_id",
}
SINGLES = {
    "due": "sorted set: target that took the last delivery -> when the next is due",
    "suspects": "sorted set: target that did not, or took none yet -> when the next is due",
    "flights": "sorted set: delivery|fence of every attempt under way -> end of the lease",
    "called": "string, there while a worker was called by a ticket and has not found yet that nothing more is due",
    "turn": "counter: what became due, of targets and of deliveries",
    "fence": "counter: the last fence given out",
}


class WebhookKeys:
    def __init__(self, keys: RedisKeys) -> None:
        self.root = f"{keys.root}{SUBROOT}"

    def endpoint(self, endpoint: EndpointId) -> str:
        return f"{self.root}:endpoint:{endpoint}"

    def endpoints(self, tenant: TenantId) -> str:
        return f"{self.root}:endpoints:{tenant}"

    def gone(self, endpoint: EndpointId) -> str:
        return f"{self.root}:gone:{endpoint}"

    def secrets(self, tenant: TenantId) -> str:
        return f"{self.root}:secrets:{tenant}"

    def delivery(self, delivery: DeliveryId) -> str:
        return f"{self.root}:delivery:{delivery}"

    def attempts(self, delivery: DeliveryId) -> str:
        return f"{self.root}:attempts:{delivery}"

    def log(self, target: Target) -> str:
        return f"{self.root}:log:{target}"

    def target(self, target: Target) -> str:
        return f"{self.root}:target:{target}"

    def waiting(self, target: Target) -> str:
        return f"{self.root}:waiting:{target}"

    def of_job(self, job: JobId) -> str:
        return f"{self.root}:of_job:{job}"
