"""All metrics, as `metrics.json` lists them: name with its unit, kind, labels and meaning. A process exports no others.

`python -m generators.metric_table` makes docker/prometheus/METRICS.md from it. Alerts and dashboards
use only these. No label contains a tenant, a job or a text; operators group tenants into classes.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class Kind(enum.StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Source(enum.StrEnum):
    """Which processes export a metric."""

    EVERY = "every process"
    API = "the API"
    FLEET = "the API, for the whole system"
    WORKER = "workers"
    GPU = "GPU workers"
    HOOKS = "webhook workers"
    JANITOR = "the janitor"


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """name: without `_total`, which a counter's samples get."""

    name: str
    kind: Kind
    source: Source
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def sample(self) -> str:
        """The name that rules and dashboards use."""
        return f"{self.name}_total" if self.kind is Kind.COUNTER else self.name


def _read() -> Iterator[MetricSpec]:
    data = json.loads(Path(__file__).with_name("metrics.json").read_text(encoding="utf-8"))
    for each in data["metrics"]:
        buckets = tuple(data["buckets_s"][each["buckets"]]) if "buckets" in each else ()
        kind, source, labels = Kind(each["kind"]), Source(each["source"]), tuple(each.get("labels", ()))
        yield MetricSpec(each["name"], kind, source, each["meaning"], labels, buckets)


CATALOGUE = {spec.name: spec for spec in _read()}
