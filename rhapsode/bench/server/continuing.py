"""A measurement that was stopped goes on: what its report has is kept, and what was broken off is measured again."""

from __future__ import annotations

from rhapsode.bench.server.report import Asked, ServerReport

_NEARLY_S = 0.05


class NotTheSame(Exception):
    """What the report says was asked is not what is asked now. The message says what differs."""


def continued(report: ServerReport, asked: Asked, window_s: float) -> ServerReport:
    """The report without the stages that did not last their window or broke off. Raises NotTheSame."""
    before, now = report.asked.model_dump(), asked.model_dump()
    if different := [name for name in now if before[name] != now[name]]:
        raise NotTheSame(", ".join(name.replace("_", " ") for name in different))
    whole = [
        stage for stage in report.stages if not stage.failed and stage.ends_s - stage.begins_s > window_s - _NEARLY_S
    ]
    return report.model_copy(update={"stages": whole})
