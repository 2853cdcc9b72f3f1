"""The output of a job that has one already, changed field by field. Pure."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from api.http.problems.problem import invalid_field
from api.submission.output import resolve_output
from rhapsode.contract.jobs.output import OutputChange, OutputRequest
from storage.narration.outputs import OutputFormat, OutputSpec, default_bitrate_kbps


def resolve_changed_output(change: OutputChange, old: OutputSpec, model_rate_hz: int) -> OutputSpec:
    """Raises a `Problem` for what no file can be, and for another destination: finished files stay where they are."""
    merged = merge_patch(_as_asked(old, model_rate_hz), change.model_dump(mode="json", exclude_unset=True))
    new = resolve_output(OutputRequest.model_validate(merged), model_rate_hz)
    if new.destination != old.destination:
        raise invalid_field("/output/destination", "not_supported", "a job stays with the destination that it has")
    return new


def merge_patch(old: JsonValue, change: JsonValue) -> JsonValue:
    """RFC 7396."""
    if not isinstance(change, dict):
        return change
    merged = dict(old) if isinstance(old, dict) else {}
    for name, value in change.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def _as_asked(output: OutputSpec, model_rate_hz: int) -> dict[str, JsonValue]:
    """The request that comes to this output; what is as it is by default is left out."""
    rate_hz = output.sample_rate_hz or model_rate_hz
    asked: dict[str, object] = {
        "formats": [_format(form, rate_hz) for form in output.formats],
        "sample_rate": output.sample_rate_hz,
        "loudness": None if output.loudness is None else asdict(output.loudness),
        "chapters": output.chapters,
        "timestamps": output.timestamps,
        "subtitles": list(output.subtitles),
        "tags": {name: value for name, value in asdict(output.tags).items() if value},
        "destination": None if output.destination is None else asdict(output.destination),
    }
    return to_jsonable_python({name: value for name, value in asked.items() if value is not None})


def _format(form: OutputFormat, rate_hz: int) -> dict[str, object]:
    """Without a bitrate that was not chosen, for another sample rate has another."""
    is_chosen = form.bitrate_kbps != default_bitrate_kbps(form.type, rate_hz)
    return {"type": form.type, "bitrate_kbps": form.bitrate_kbps} if is_chosen else {"type": form.type}
