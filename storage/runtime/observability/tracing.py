"""One trace from a request to its webhook: spans that carry a job's id, its parts, and how long each took.

Off, which is the default, a span costs a look at a global: nothing of OpenTelemetry is loaded by us. The trace travels
with the job's record, not with a ticket, so the worker that claims an item goes on with it. No span holds a text, a key
or a link.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from storage.runtime.config.settings import SettingsError, StorageSettings
from storage.runtime.observability.spans import Attribute, TraceSpan

if TYPE_CHECKING:
    from storage.runtime.observability.tracing_export import OpenTelemetryTracer

_NOTHING = contextlib.nullcontext(TraceSpan())
_tracer: OpenTelemetryTracer | None = None


def configure_tracing(settings: StorageSettings, role: str) -> None:
    """As the settings say: nothing, OTLP as the OTEL_ variables say, or a file for each process in a folder.

    role: of this process, `service.name` of its spans. Call once, at start. Raises `SettingsError` if the packages are
    not installed or the folder cannot be written.
    """
    global _tracer  # the process has one tracer, as it has one log
    if not settings.tracing:
        return
    try:
        from storage.runtime.observability.tracing_export import open_tracer
    except ImportError as error:
        raise SettingsError(f"RHAPSODE_TRACING needs packages: pip install 'rhapsode[tracing]' ({error})") from error
    try:
        _tracer = open_tracer(settings.tracing, role)
    except OSError as error:
        raise SettingsError(f"RHAPSODE_TRACING: {error}") from error


def end_tracing() -> None:
    """Send what is left. Idempotent."""
    global _tracer
    if _tracer is not None:
        _tracer.close()
        _tracer = None


def is_traced() -> bool:
    """Whether spans go anywhere."""
    return _tracer is not None


def span(name: str, parent: str = "", **attributes: Attribute) -> AbstractContextManager[TraceSpan]:
    """Within the span that is open in this context; if none is, within `parent`, a W3C traceparent."""
    return _NOTHING if _tracer is None else _tracer.span(name, parent, attributes)


def current_trace() -> str:
    """The open span as W3C traceparent, "" if there is none."""
    return "" if _tracer is None else _tracer.current()
