"""Spans by OpenTelemetry. Imported only where tracing is on."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from storage.runtime.observability.spans import Attribute, TraceSpan

FLUSH_MS = 1_000.0
"""How old a span gets before it is sent: what a killed process takes along."""

_PROPAGATOR = TraceContextTextMapPropagator()


class OpenTelemetrySpan(TraceSpan):
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, **attributes: Attribute) -> None:
        self._span.set_attributes(attributes)


class OpenTelemetryTracer:
    def __init__(self, exporter: SpanExporter, role: str) -> None:
        resource = Resource.create({"service.name": f"rhapsode-{role}", "process.pid": os.getpid()})
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=FLUSH_MS))
        self._tracer = self._provider.get_tracer("rhapsode")

    @contextmanager
    def span(self, name: str, parent: str, attributes: dict[str, Attribute]) -> Generator[TraceSpan]:
        named = {f"rhapsode.{key}": value for key, value in attributes.items()}
        with self._tracer.start_as_current_span(name, context=_context(parent), attributes=named) as opened:
            yield OpenTelemetrySpan(opened)

    def current(self) -> str:
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return carrier.get("traceparent", "")

    def close(self) -> None:
        self._provider.shutdown()


def open_tracer(where: str, role: str) -> OpenTelemetryTracer:
    """where: `otlp`, or file:///folder. Raises `OSError` for a folder that cannot be written."""
    return OpenTelemetryTracer(_exporter(where, role), role)


def _exporter(where: str, role: str) -> SpanExporter:
    if where == "otlp":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter()
    folder = Path(unquote(urlsplit(where).path))
    folder.mkdir(parents=True, exist_ok=True)
    # Open for the life of the process, one line a span.
    file = (folder / f"{role}-{os.getpid()}.jsonl").open("a", buffering=1)
    return ConsoleSpanExporter(out=file, formatter=lambda span: f"{span.to_json(indent=None)}\n")


def _context(parent: str) -> Context | None:
    """None: within what is open here. Anything but a traceparent begins a new trace."""
    if not parent or trace.get_current_span().get_span_context().is_valid:
        return None
    return _PROPAGATOR.extract({"traceparent": parent})
