"""How a worker reaches callers' buckets: what opens their credentials, which addresses, and how many at a time."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from storage.objects.callers_bucket import BucketKeys, decode_bucket_keys
from storage.runtime.config.settings import StorageSettings
from storage.runtime.config.webhook_options import parse_networks
from storage.runtime.egress.client import AttemptTimes, SafeHttp, UrlRules
from storage.runtime.egress.public_addresses import AddressRules
from storage.webhooks.http import CONNECT_S
from storage.webhooks.sealed_secrets import SecretSealer, SecretUnreadable

MOST_AT_A_TIME = 2
"""Half of the threads of a CPU worker: a server that takes its time holds up no plan and no assembly."""

BUSY_S = 2.0
SLOWEST_BYTES_PER_S = 64 * 1024
PATIENCE_S = 60.0


class AllPlacesTaken(Exception):
    """As many files are being sent as may be at a time."""


@dataclass(frozen=True, slots=True)
class BucketAccess:
    """sealer: None where no RHAPSODE_WEBHOOK_KEY is set."""

    sealer: SecretSealer | None = None
    rules: UrlRules = field(default_factory=UrlRules)
    places: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(MOST_AT_A_TIME))

    def keys(self, sealed: str, owner: str) -> BucketKeys:
        """Raises `SecretUnreadable`."""
        if self.sealer is None:
            raise SecretUnreadable("this worker has no RHAPSODE_WEBHOOK_KEY")
        return decode_bucket_keys(self.sealer.open(sealed, owner))

    def http(self, num_bytes: int) -> SafeHttp:
        """For requests of at most so many bytes: as much time as a slow line takes for them."""
        return SafeHttp(self.rules, AttemptTimes(CONNECT_S, PATIENCE_S + num_bytes / SLOWEST_BYTES_PER_S))

    @contextmanager
    def place(self) -> Generator[None]:
        """Raises `AllPlacesTaken`."""
        if not self.places.acquire(blocking=False):
            raise AllPlacesTaken
        try:
            yield
        finally:
            self.places.release()


def bucket_access(settings: StorageSettings) -> BucketAccess:
    key = settings.webhook_key.get_secret_value()
    rules = UrlRules(addresses=AddressRules(parse_networks(settings.bucket_allow_private)))
    return BucketAccess(SecretSealer(key) if key else None, rules)
