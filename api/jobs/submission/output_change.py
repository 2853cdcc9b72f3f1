"""The output of a job that has one already, changed field by field. Pure."""

from __future__ import annotations

from pydantic import JsonValue

from api.http.problems.problem import invalid_field
from api.jobs.submission.output import resolve_output
from rhapsode.contract.jobs.output import Output, OutputChange, OutputFormat
from rhapsode.contract.jobs.presets import PRESETS
from storage.narration.audio_formats import default_bitrate_kbps


def resolve_changed_output(change: OutputChange, old: Output, model_rate_hz: int) -> Output:
    """Raises a `Problem` for what no file can be, and for another place: finished files stay where they are."""
    stays = _as_asked(old, model_rate_hz)
    if change.preset is not None:
        stays = {name: value for name, value in stays.items() if name not in PRESETS[change.preset].output}
    merged = merge_patch(stays, change.model_dump(mode="json", exclude_unset=True))
    new = resolve_output(Output.model_validate(merged), model_rate_hz)
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


def _as_asked(output: Output, model_rate_hz: int) -> dict[str, JsonValue]:
    """The request that comes to this output; what is as it is by default is left out, unless a preset would fill it."""
    rate_hz = output.sample_rate or model_rate_hz
    governed = set(PRESETS[output.preset].output) if output.preset else set[str]()
    said = output.model_dump(mode="json")
    asked = {name: value for name, value in said.items() if value is not None or name in governed}
    return asked | {"formats": [_format(form, rate_hz) for form in output.formats]}


def _format(form: OutputFormat, rate_hz: int) -> JsonValue:
    """Without a bitrate that was not chosen, for another sample rate has another."""
    is_chosen = form.bitrate_kbps != default_bitrate_kbps(form.type, rate_hz)
    return form.model_dump(mode="json", exclude=None if is_chosen else {"bitrate_kbps"})
