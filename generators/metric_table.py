"""All metrics as Markdown, in a list for each kind of process.

python -m generators.metric_table > docker/prometheus/METRICS.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from storage.runtime.observability.metric_catalogue import CATALOGUE, MetricSpec, Source

_HEAD = """# Metrics

The API exports metrics at `/metrics`, which needs a key with `admin`; others at `RHAPSODE_METRICS_PORT` (images: 9101).
For figures of the whole system, take `max` over APIs, not `sum`. Labels never contain tenants, jobs or texts.
Two of them say when to [add GPU workers](../RUNBOOK.md#add-gpu-workers).
"""


def metric_table() -> str:
    return "\n".join([_HEAD, *(line for source in Source for line in _section(source))])


def _section(source: Source) -> Iterator[str]:
    yield from (f"## From {source}", "")
    yield from (_row(spec) for spec in CATALOGUE.values() if spec.source is source)
    yield ""


def _row(spec: MetricSpec) -> str:
    labels = f"{{{', '.join(spec.labels)}}}" if spec.labels else ""
    return f"- `{spec.sample}{labels}`: {spec.meaning}"


if __name__ == "__main__":
    sys.stdout.write(metric_table())
