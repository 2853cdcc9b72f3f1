"""The state of a stack: an embedded Valkey server, or the server of RHAPSODE_REDIS_URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from rhapsode.stack.errors import PartMissing, SettingsRefused
from rhapsode.stack.layout import DataDir
from rhapsode.stack.process_names import VALKEY
from rhapsode.stack.processes import CLIENT_ONLY, inherited_environment
from rhapsode.stack.supervision.child import ProcessSpec
from storage.database.connections import connect_redis
from storage.database.embedded_valkey import EmbeddedRedis, ServerBinaryMissing
from storage.errors import StoreUnavailable
from storage.queue.model_registry import ModelCard, ModelRegistry
from storage.queue.worker_registry import WorkerRegistry
from storage.runtime.config.certificates import check_certificates
from storage.runtime.config.complaints import complaints
from storage.runtime.config.settings import (
    ENV_PREFIX,
    SETTING_NAMES,
    STORAGE_SETTING_NAMES,
    SettingsError,
    StorageSettings,
    refuse_unknown_settings,
)


@dataclass(frozen=True, slots=True)
class Backing:
    """Settings that point every process at the state, and the server to run for it, if it is ours."""

    environment: Mapping[str, str]
    server: ProcessSpec | None


def choose_backing(environ: Mapping[str, str], data_dir: DataDir) -> Backing:
    """Raises `PartMissing` if a server of our own is needed and there is none to run."""
    if environ.get("RHAPSODE_REDIS_URL"):
        return Backing({}, server=None)
    valkey = EmbeddedRedis(data_dir.valkey)
    try:
        command = tuple(valkey.command())
    except ServerBinaryMissing as error:
        raise PartMissing(str(error)) from error
    server = ProcessSpec(VALKEY, command, inherited_environment(environ), data_dir.run, grace_s=10.0)
    return Backing({"RHAPSODE_REDIS_URL": valkey.url, "RHAPSODE_BROKER_URL": valkey.broker_url}, server)


def refuse_unknown(environ: Mapping[str, str]) -> None:
    """Raises `SettingsRefused` for an unknown RHAPSODE_ variable."""
    try:
        refuse_unknown_settings(environ, SETTING_NAMES | CLIENT_ONLY)
    except SettingsError as error:
        raise SettingsRefused(str(error)) from error


def storage_settings(shared: Mapping[str, str]) -> StorageSettings:
    """The storage settings that the processes will read. Raises `SettingsRefused` before any of them is started."""
    fields = {name.removeprefix(ENV_PREFIX).lower(): shared[name] for name in STORAGE_SETTING_NAMES if shared.get(name)}
    try:
        settings = StorageSettings.model_validate(fields)
        check_certificates(settings)
    except SettingsError as error:
        raise SettingsRefused(str(error)) from error
    except ValidationError as error:
        raise SettingsRefused(complaints(error)) from error
    return settings


class StateProbe:
    """Looks into the state from outside: does it answer, and has a worker announced a model since it first did?"""

    def __init__(self, settings: StorageSettings) -> None:
        self._redis = connect_redis(settings)
        self._registry = ModelRegistry(self._redis, settings.key_prefix)
        self._workers = WorkerRegistry(self._redis, settings.key_prefix)
        self._old: tuple[ModelCard, ...] | None = None

    def is_answering(self) -> bool:
        """From the first True on, `model` counts what is announced later."""
        cards = self._cards()
        if self._old is None:
            self._old = cards
        return cards is not None

    def model(self) -> ModelCard | None:
        """A card announced since then: older ones may be of workers long gone."""
        old = self._old or ()
        return next((card for card in self._cards() or () if card not in old), None)

    def workers(self) -> frozenset[tuple[str, int]]:
        """Name and process id of the workers that were ready lately."""
        try:
            return frozenset((worker.report.name, worker.report.pid) for worker in self._workers.list())
        except StoreUnavailable:
            return frozenset()

    def close(self) -> None:
        self._redis.close()

    def _cards(self) -> tuple[ModelCard, ...] | None:
        try:
            return self._registry.list()
        except StoreUnavailable:
            return None
