"""A deliverer in this process, with the scripts' clock in the test's hands, and receivers on the loopback interface."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_network

import redis

from storage.database.keys import WebhookKeys
from storage.ids import JobId, TenantId, new_endpoint_id
from storage.runtime.egress.connecting import AttemptTimes, Resolver, system_resolver
from storage.runtime.egress.kept import KeptHttp
from storage.runtime.egress.public_addresses import AddressRules
from storage.runtime.egress.url_rules import UrlRules
from storage.webhooks.records import DeliveryRecord, EndpointRecord, NewEndpoint
from storage.webhooks.sealed_secrets import SecretSealer, new_secret
from tests.storage.job_store.job_driver import ALICE
from tests.storage.webhooks.world import HOOKS, WebhookWorld
from worker.webhooks.attempts import Sender
from worker.webhooks.lifecycle import DeliveryLoop
from worker.webhooks.retry_schedule import DELAYS_S
from worker.webhooks.sending import Deliverer

KEY = "a-sealing-key-for-tests"
LOOPBACK = UrlRules(addresses=AddressRules((ip_network("127.0.0.0/8"),)))
PATIENT = AttemptTimes(connect_s=15, total_s=15)
QUICK = AttemptTimes(connect_s=0.5, total_s=0.5)
"""For receivers that hang; one that is well might take longer on a busy machine."""
SLOTS = 256


@dataclass(frozen=True)
class Request:
    """What a receiver got."""

    headers: Mapping[str, str]
    body: bytes

    @classmethod
    def parse(cls, raw: bytes) -> Request:
        head, _, body = raw.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")[1:]
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        return cls(headers, body)


class OneByOne:
    """A deliverer that makes one attempt a call, in an event loop of its own."""

    def __init__(self, world: HookWorld, sender: Callable[[], Sender]) -> None:
        self._world = world
        self._sender = sender

    def deliver_one(self) -> bool:
        """False when nothing was due, or could be claimed."""
        before = self._world.num_claimed()
        asyncio.run(self._deliver_one())
        return self._world.num_claimed() > before

    async def _deliver_one(self) -> None:
        turns = iter([True])
        deliverer = Deliverer(self._world.queue, self._sender(), HOOKS, 1, lambda: next(turns, False))
        await deliverer.run(lambda: True)
        await deliverer.close()


class HookWorld(WebhookWorld):
    """With a deliverer in this process."""

    def __init__(self, client: redis.Redis) -> None:
        super().__init__(client)
        self.sealer = SecretSealer(KEY)
        self.secrets: dict[str, str] = {}

    def deliverer(
        self,
        rules: UrlRules = LOOPBACK,
        resolver: Resolver = system_resolver,
        times: AttemptTimes = PATIENT,
        delays_s: tuple[float, ...] = DELAYS_S,
    ) -> OneByOne:
        return OneByOne(self, lambda: Sender(KeptHttp(rules, times, resolver), self.sealer, delays_s))

    @contextmanager
    def delivering(
        self, times: AttemptTimes = PATIENT, slots: int = SLOTS, claims: Callable[[], bool] = lambda: True
    ) -> Generator[DeliveryLoop]:
        """The loop as the process has it, until everything under way is settled."""
        sender = Sender(KeptHttp(LOOPBACK, times), self.sealer, DELAYS_S)
        loop = DeliveryLoop(Deliverer(self.queue, sender, HOOKS, slots, claims))
        loop.start()
        try:
            yield loop
        finally:
            loop.close()

    def num_claimed(self) -> int:
        """Since the beginning."""
        return int(str(self.client.get(f"{WebhookKeys('rhapsode').root}:fence") or 0))

    def receiver(
        self, url: str, events: tuple[str, ...] = ("job.cancelled",), tenant: TenantId = ALICE
    ) -> EndpointRecord:
        """An endpoint whose secret the test knows."""
        endpoint, secret = new_endpoint_id(), new_secret()
        self.secrets[endpoint] = secret
        sealed = self.sealer.seal(secret, endpoint)
        return self.store.create(NewEndpoint(endpoint, tenant, url, events, sealed, "https://api.example"))

    def delivery(self, job: JobId) -> DeliveryRecord:
        """The only one of the job."""
        (record,) = self.store.job_deliveries(ALICE, job)
        return record


def is_signed(request: Request, secrets: Sequence[str]) -> bool:
    """Svix' way of verifying, written down from its documentation: any `v1` signature that fits will do."""
    signed = b".".join(
        (request.headers["webhook-id"].encode(), request.headers["webhook-timestamp"].encode(), request.body)
    )
    given = [part.split(",", 1) for part in request.headers["webhook-signature"].split(" ")]
    wanted = [
        base64.b64encode(hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256)).decode()
        for secret in secrets
    ]
    return any(version == "v1" and hmac.compare_digest(value, each) for version, value in given for each in wanted)
