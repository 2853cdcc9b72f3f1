"""Where the stores are and how to reach them: the settings that every process shares.

`load_settings` is the only reader of the environment. A variable that begins with RHAPSODE_ and is no
setting stops the process: a misspelt limit must not be silently ignored. An empty setting counts as unset.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, Self, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from storage.runtime.config.complaints import complaints
from storage.runtime.config.sentinel_url import is_sentinel_url, parse_sentinel_url, sentinel_url_with
from storage.runtime.config.setting_files import SettingFileError, is_setting_file, read_setting_files
from storage.runtime.config.sources import ENV_PREFIX, shown_value, without_empty
from storage.runtime.config.tls import TlsFiles, check_verified
from storage.runtime.config.webhook_options import checked_by, parse_networks, split_keys

TEST_PREFIX = "RHAPSODE_TEST_"
"""Variables of the test suite; never a setting of a process."""

STATE_DB = 0
BROKER_DB = 1

_STATE_AT_BROKERS = f"RHAPSODE_REDIS_URL names database {BROKER_DB}, the broker's; set RHAPSODE_BROKER_URL too"

MISUSED = 2
"""The exit status of a program whose settings are wrong."""

MOST_SECONDS = 7 * 24 * 3600
MOST = 10**12
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class SettingsError(Exception):
    """The environment does not describe a system that can be started; the message names the variable."""


@contextmanager
def settings_refused_by(program: str) -> Generator[None]:
    """Ends the process for a `SettingsError` of the block: one line, status 2."""
    try:
        yield
    except SettingsError as error:
        raise refusal(program, error) from None


def refusal(program: str, error: Exception) -> SystemExit:
    """What ends a program that cannot start, after a line on standard error."""
    sys.stderr.write(f"{program}: {error}\n")
    return SystemExit(MISUSED if isinstance(error, SettingsError) else 1)


class StorageSettings(BaseSettings):
    """Redis, broker, object store and what every process needs; read from the environment alone.

    redis_url: redis://, rediss://, redis+sentinel:// (see `sentinel_url`) or unix://[:password@]/path?db=0.
    broker_url: in kombu's spelling (a Unix socket is redis+socket://[:password@]/path?virtual_host=1); empty
        means the server of `redis_url`, database 1.
    accept_replicas: replicas that must have a job before it counts as accepted; 0: the server alone.
    store: file:///absolute/path (one host) or s3://bucket[/prefix]. S3 credentials come from where boto3
        looks for them.
    s3_public_endpoint: how clients reach the S3 server where that is not `s3_endpoint_url`; links are signed for it.
    tls_ca: PEM file of the authorities that rediss:// and https:// servers are verified by; unset: the system's.
    tls_certificate, tls_key: PEM files of this system's own certificate, for servers that ask for one.
    url_secret: signs the download links of a folder store; at least 16 characters.
    key_prefix: first part of every Redis key, so that several systems can share a server.
    webhook_key: seals the secrets that sign webhooks; without it there are no webhooks. Comma-separated, to replace it:
        the first seals, all open; each of at least 16 random characters.
    webhook_allow_private: networks of one's own, comma-separated, whose receivers may be reached, also by plain http;
        `loopback` is this machine. Empty: the internet alone, by https.
    log_level: the least that is logged. debug is for finding a fault; it is as silent about texts and secrets.
    tracing: `otlp` sends every job's trace where the OTEL_ variables say, file:///folder writes it there; empty: none.
    quota_jobs, quota_audio_s, quota_voices: what one tenant may hold, unless an operator gave it
        limits of its own: unfinished jobs, their expected audio, and voices.
        The same for the API and for workers, which make the jobs of batches.
    backlog_jobs, backlog_audio_s: unfinished jobs of all tenants together, and their expected audio.
    failpoint: name:action[:chance or passage], for fault tests.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        allow_inf_nan=False,
        enable_decoding=False,
    )

    redis_url: SecretStr = SecretStr("redis://127.0.0.1:6379/0")
    broker_url: SecretStr = SecretStr("")
    accept_replicas: int = Field(default=0, ge=0, le=5)
    store: str
    s3_endpoint_url: str | None = None
    s3_public_endpoint: str | None = None
    s3_region: str | None = None
    tls_ca: Path | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    url_secret: SecretStr = SecretStr("")
    key_prefix: str = Field(default="rhapsode", pattern=r"^[a-z0-9-]+$")
    webhook_key: SecretStr = SecretStr("")
    webhook_allow_private: Annotated[str, checked_by(parse_networks)] = ""
    quota_jobs: int = Field(default=10_000, ge=0)
    quota_audio_s: int = Field(default=500 * 3600, ge=0)
    quota_voices: int = Field(default=100_000, ge=0)
    backlog_jobs: int = Field(default=100_000, ge=0)
    backlog_audio_s: int = Field(default=5_000 * 3600, ge=0)
    log_format: Literal["auto", "console", "json"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    tracing: str = ""
    failpoint: str = ""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What was given in code, then the environment, in which a variable may name a file that holds its value."""
        environment = EnvSettingsSource(settings_cls)
        files = read_setting_files(os.environ, SETTING_NAMES)
        given = without_empty(environment.env_vars)
        environment.env_vars = given | {name.lower(): value for name, value in files.items()}
        return init_settings, environment

    @field_validator("*")
    @classmethod
    def _is_sane(cls, value: object) -> object:
        """What holds for every setting."""
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        texts = text if isinstance(text, tuple) else (text,)
        if any(isinstance(each, str | Path) and _CONTROL.search(str(each)) for each in texts):
            raise ValueError("must be one line, without control characters")
        most = MOST_SECONDS if isinstance(value, float) else MOST
        if isinstance(value, int | float) and value > most:
            raise ValueError(f"must be at most {most}")
        return value

    @field_validator("redis_url", "broker_url")
    @classmethod
    def _server(cls, value: SecretStr, info: ValidationInfo) -> SecretStr:
        url = value.get_secret_value()
        if is_sentinel_url(url):
            parse_sentinel_url(url)
        elif url or info.field_name == "redis_url":
            _check_server(url, "unix" if info.field_name == "redis_url" else "redis+socket")
        return value

    @field_validator("webhook_key")
    @classmethod
    def _sealing_key(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value():
            split_keys(value.get_secret_value())
        return value

    @field_validator("s3_endpoint_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        return check_address(value) if value else None

    @field_validator("s3_public_endpoint")
    @classmethod
    def _is_host(cls, value: str | None) -> str | None:
        """The signature covers the host alone: a path that a proxy takes away would break every link."""
        if value and urlsplit(check_address(value)).path.strip("/"):
            raise ValueError("must be http://host or https://host, without a path")
        return value or None

    @field_validator("store")
    @classmethod
    def _store_scheme(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme == "file" and not parts.netloc and parts.path.startswith("/"):
            return value
        if parts.scheme == "s3" and parts.netloc and not parts.query:
            return value
        raise ValueError("must be file:///absolute/path or s3://bucket or s3://bucket/prefix")

    @field_validator("tracing")
    @classmethod
    def _known_tracing(cls, value: str) -> str:
        parts = urlsplit(value)
        if value in ("", "otlp") or (parts.scheme == "file" and not parts.netloc and parts.path.startswith("/")):
            return value
        raise ValueError("must be otlp, or file:///absolute/path")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if not self.broker_url.get_secret_value():
            object.__setattr__(self, "broker_url", SecretStr(broker_url_of(self.redis_url.get_secret_value())))
        if self.store.startswith("file:") and len(self.url_secret.get_secret_value()) < 16:
            raise ValueError("RHAPSODE_URL_SECRET must have at least 16 characters when the store is a folder")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("RHAPSODE_TLS_CERTIFICATE and RHAPSODE_TLS_KEY need each other")
        if self.tls_ca is not None or self.tls_certificate is not None:
            self.tls_files.context()
        return self

    @property
    def tls_files(self) -> TlsFiles:
        return TlsFiles(self.tls_ca, self.tls_certificate, self.tls_key)

    @property
    def store_path(self) -> Path:
        """The folder of a file:// store."""
        return Path(unquote(urlsplit(self.store).path))


_NAMES = {
    "api": """
        ALIASES API_KEYS CONSENT CORS_ORIGINS LIVE_DRAIN_S MAX_TEXT_CHARS MAX_UPLOAD_BYTES METRICS_ACCESS
        OIDC_ALLOW_PRIVATE OIDC_AUDIENCE OIDC_ISSUER OIDC_SCOPE_CLAIM OIDC_TENANT_CLAIM OPERATOR PUBLIC_URL
        RATE_LIMIT STRICT_SPEECH
    """,
    "worker": """
        CHECKPOINT CHECKPOINTS DECODER_DEVICE DEVICE ENGINE ENGINE_PRECISION ENGINE_PROFILE
        ENGINE_REPRODUCIBILITY ENGINE_THREADS ENGINE_WATCHDOG_S FAKE_STEP_S LEASE_S LIVE_HOST LIVE_PORT
        LIVE_SLOTS LIVE_TLS_CERTIFICATE LIVE_TLS_KEY LIVE_TLS_NAME MAX_ATTEMPTS METRICS_PORT MODEL
        POSTPROCESSORS RECOGNISER SLOTS WEBHOOK_DELAYS_S WHISPER_MODEL WORKER_NAME
    """,
    "client and command line": """
        API_KEY API_PROCESSES CPU_WORKERS DATA_DIR DEBUG PORT SERVER_URL
    """,
}

STORAGE_SETTING_NAMES = frozenset(f"{ENV_PREFIX}{name.upper()}" for name in StorageSettings.model_fields)
SETTING_NAMES = STORAGE_SETTING_NAMES | {f"{ENV_PREFIX}{name}" for names in _NAMES.values() for name in names.split()}
"""Every variable of every process: they share one environment, so each must know the others' names."""

S = TypeVar("S", bound=StorageSettings)

NOTHING_SUPPLIED: Mapping[str, str] = MappingProxyType({})


def load_settings(settings_class: type[S], supplied: Mapping[str, str] = NOTHING_SUPPLIED) -> S:
    """The process's settings from its environment. Raises `SettingsError` naming what is wrong, without values.

    supplied: field -> value that the starting program sets; it overrides the environment.
    """
    refuse_unknown_settings(os.environ, SETTING_NAMES)
    try:
        return settings_class.model_validate(dict(supplied))
    except ValidationError as error:
        raise SettingsError(complaints(error)) from None
    except SettingFileError as error:
        raise SettingsError(str(error)) from None


def refuse_unknown_settings(environ: Mapping[str, str], known: Collection[str]) -> None:
    """Raise `SettingsError` for a RHAPSODE_ variable outside `known`, naming the closest one that exists."""
    for name in sorted(environ):
        upper = name.upper()
        if not upper.startswith(ENV_PREFIX) or upper.startswith(TEST_PREFIX):
            continue
        if upper in known or is_setting_file(upper, known):
            continue
        close = difflib.get_close_matches(upper, known, n=1, cutoff=0.0)
        raise SettingsError(f"{name} is not a setting; did you mean {close[0]}?")


def describe(settings: BaseSettings) -> tuple[str, ...]:
    """One line a setting, in declaration order, without secrets; for the log at start."""
    return tuple(f"{ENV_PREFIX}{name.upper()}={shown_value(settings, name)}" for name in type(settings).model_fields)


def check_address(url: str) -> str:
    """Raises `ValueError` for what is not the address of a server by HTTP."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment or parts.port == 0:
        raise ValueError("must be http://host or https://host, with a path if there is one")
    if any(map(str.isspace, url)):
        raise ValueError("must be without spaces")
    check_host(parts.hostname)
    return url


def check_host(name: str) -> str:
    """Raises `ValueError` for a name that resolvers refuse with a `UnicodeError`."""
    try:
        name.encode("idna")
    except UnicodeError:
        raise ValueError("its host has an empty part, or one of more than 63 characters") from None
    return name


def _check_server(url: str, socket_scheme: str) -> None:
    """Raises `ValueError`. The clients take a database that is no number for database 0."""
    parts, query = urlsplit(url), dict(parse_qsl(urlsplit(url).query))
    if parts.scheme not in {"redis", "rediss", socket_scheme}:
        raise ValueError(f"must begin with redis://, rediss://, redis+sentinel:// or {socket_scheme}://")
    is_socket = parts.scheme == socket_scheme
    named = query.get("virtual_host" if socket_scheme == "redis+socket" and is_socket else "db", "")
    if not (named + ("" if is_socket else parts.path.strip("/")) or "0").isdecimal() or parts.port == 0:
        raise ValueError("names its database by a number, and a port from 1 to 65535")
    check_host("" if is_socket else parts.hostname or "")
    check_verified(url)


def broker_url_of(redis_url: str) -> str:
    """The same server's broker database, in kombu's spelling. Raises `ValueError` if the state is kept there."""
    if is_sentinel_url(redis_url):
        if parse_sentinel_url(redis_url).database == BROKER_DB:
            raise ValueError(_STATE_AT_BROKERS)
        return sentinel_url_with(redis_url, BROKER_DB)
    parts = urlsplit(redis_url)
    query = dict(parse_qsl(parts.query))
    database = query.pop("db", "") or (parts.path.strip("/") if parts.scheme != "unix" else "")
    if database == str(BROKER_DB):
        raise ValueError(_STATE_AT_BROKERS)
    if parts.scheme == "unix":
        query = {"virtual_host": str(BROKER_DB)} | query
        return f"redis+socket://{parts.netloc}{parts.path}?{urlencode(query)}"
    return urlunsplit((parts.scheme, parts.netloc, f"/{BROKER_DB}", urlencode(query), ""))


def unix_redis_url(socket: Path, password: str, database: int) -> str:
    """A Redis URL for a server behind a Unix socket."""
    return f"unix://:{quote(password, safe='')}@{quote(str(socket))}?db={database}"
