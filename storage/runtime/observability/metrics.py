"""The instruments of this process, each as `metric_catalogue` describes it, and what the stores measure with them.

A process has one registry. Instruments are made where they are used, at import: they are numbers under a lock, no more.
What another object counts anyway is read at the scrape by a collector, see `Snapshot`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from storage.errors import StoreUnavailable
from storage.runtime.observability.metric_catalogue import CATALOGUE, Kind, MetricSpec
from storage.runtime.observability.shared_metrics import GAUGE_MODE, shared_metrics
from storage.runtime.observability.tracing import span

P = ParamSpec("P")
T = TypeVar("T")

# Each sample's time of birth doubles the lines, and Prometheus' text format gives it no meaning.
disable_created_metrics()


class _Registry(CollectorRegistry):
    def collect(self) -> Iterable[Metric]:
        return added_up(super().collect())


def added_up(families: Iterable[Metric]) -> list[Metric]:
    """One family for each name. What several processes measure is added up by labels."""
    found: dict[str, Metric] = {}
    for family in families:
        others = found.get(family.name)
        if others is None:
            found[family.name] = family
            continue
        samples = {(each.name, *sorted(each.labels.items())): each for each in others.samples}
        for each in family.samples:
            known = samples.get(key := (each.name, *sorted(each.labels.items())))
            samples[key] = each._replace(value=known.value + each.value) if known else each
        found[family.name] = Metric(family.name, family.documentation, family.type)
        found[family.name].samples = list(samples.values())
    return list(found.values())


REGISTRY = _Registry(auto_describe=False)


def _known(name: str, kind: Kind) -> MetricSpec:
    spec = CATALOGUE[name]
    if spec.kind is not kind:
        raise TypeError(f"{name} is a {spec.kind}")
    return spec


def counter(name: str) -> Counter:
    """Raises `KeyError` for a name that is not in the catalogue; so do the others."""
    spec = _known(name, Kind.COUNTER)
    return Counter(spec.name, spec.meaning, spec.labels, registry=REGISTRY)


def gauge(name: str) -> Gauge:
    spec = _known(name, Kind.GAUGE)
    return Gauge(spec.name, spec.meaning, spec.labels, registry=REGISTRY, multiprocess_mode=GAUGE_MODE)


def histogram(name: str) -> Histogram:
    spec = _known(name, Kind.HISTOGRAM)
    return Histogram(spec.name, spec.meaning, spec.labels, registry=REGISTRY, buckets=spec.buckets)


class Snapshot:
    """Values read at one moment, to be exported under the catalogue's names."""

    def __init__(self) -> None:
        self._families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}

    def add(self, name: str, value: float, **labels: str) -> None:
        """labels: exactly those of the catalogue, by name; `class_` is written for `class`."""
        spec = CATALOGUE[name]
        given = {label.rstrip("_"): text for label, text in labels.items()}
        if set(given) != set(spec.labels):
            raise ValueError(f"{name} has the labels {spec.labels}, not {tuple(given)}")
        self._family(spec).add_metric([given[label] for label in spec.labels], value)

    def families(self) -> Iterable[Metric]:
        return self._families.values()

    def _family(self, spec: MetricSpec) -> CounterMetricFamily | GaugeMetricFamily:
        if spec.name not in self._families:
            family = CounterMetricFamily if spec.kind is Kind.COUNTER else GaugeMetricFamily
            self._families[spec.name] = family(spec.name, spec.meaning, labels=spec.labels)
        return self._families[spec.name]


class SnapshotCollector(Collector):
    """Calls `read` at every scrape. An error there fails the scrape, which Prometheus shows as `up == 0`."""

    def __init__(self, read: Callable[[Snapshot], None]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        snapshot = Snapshot()
        self._read(snapshot)
        return list(snapshot.families())


def export(read: Callable[[Snapshot], None]) -> Callable[[], None]:
    """Have `read` asked at every scrape of this process; returns how to end that."""
    collector = SnapshotCollector(read)
    REGISTRY.register(collector)
    return lambda: REGISTRY.unregister(collector)


def collect() -> Iterable[Metric]:
    """What this process measures, or all those together that answer at its address."""
    return (shared_metrics() or REGISTRY).collect()


PROCESS_INFO = gauge("rhapsode_process_info")
REDIS_CALL = histogram("rhapsode_redis_call_duration_seconds")
REDIS_ERRORS = counter("rhapsode_redis_call_errors")
ARTIFACT_CALL = histogram("rhapsode_artifact_call_duration_seconds")
ARTIFACT_ERRORS = counter("rhapsode_artifact_call_errors")
ARTIFACT_WRITTEN = counter("rhapsode_artifact_written_bytes")
TICKETS_UNSENT = counter("rhapsode_tickets_unsent")


def store_call(operation: str, store: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Measure a method of an object store. A stream is measured until it is given, not until it is read."""
    duration, errors = ARTIFACT_CALL.labels(operation, store), ARTIFACT_ERRORS.labels(operation, store)
    name = f"store {operation}"

    def measured(method: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            started = time.perf_counter()
            try:
                with span(name):
                    return method(*args, **kwargs)
            except StoreUnavailable:
                errors.inc()
                raise
            finally:
                duration.observe(time.perf_counter() - started)

        return call

    return measured


def redis_call(script: str) -> tuple[Histogram, Counter]:
    """Duration and errors of one function in Redis."""
    return REDIS_CALL.labels(script), REDIS_ERRORS.labels(script)
