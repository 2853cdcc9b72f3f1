"""The table of all metrics as Markdown.

python -m storage.runtime.observability.metric_table > docker/prometheus/METRICS.md
"""

from __future__ import annotations

import sys

from storage.runtime.observability.metric_catalogue import CATALOGUE, MetricSpec

_HEAD = """# Metrics

Every process exports them: the API at `/metrics`, the others where `RHAPSODE_METRICS_PORT` says. Generated from
`storage/runtime/observability/metric_catalogue.py` by `python -m storage.runtime.observability.metric_table`; a test
holds this file to it, and the rules and dashboards to this file. No label names a tenant, a job or a text.

| metric | kind | unit | labels | exported by | means |
|---|---|---|---|---|---|
"""


def metric_table() -> str:
    return _HEAD + "".join(_row(spec) for spec in CATALOGUE.values())


def _row(spec: MetricSpec) -> str:
    labels = ", ".join(f"`{label}`" for label in spec.labels)
    return f"| `{spec.sample}` | {spec.kind} | {spec.unit} | {labels} | {spec.source} | {spec.meaning} |\n"


if __name__ == "__main__":
    sys.stdout.write(metric_table())
