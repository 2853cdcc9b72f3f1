"""What a preset of the output stands for, where the request says nothing itself. Pure."""

from __future__ import annotations

from pydantic import JsonValue

from rhapsode.contract.jobs.output import Loudness, Output, OutputFormat
from rhapsode.contract.jobs.presets import PRESETS
from storage.narration.audio_formats import bitrates_kbps


def with_preset(request: Output, model_rate_hz: int) -> Output:
    """A field that the request names is as it says; of a loudness, and of a format, likewise each part."""
    if request.preset is None:
        return request
    preset = Output.model_validate(PRESETS[request.preset].output)
    governed = {name: getattr(preset, name) for name in preset.model_fields_set - request.model_fields_set}
    filled = request.model_copy(update=governed)
    rate_hz = filled.sample_rate or model_rate_hz
    named = request.formats if "formats" in request.model_fields_set else map(_without_bitrate, preset.formats)
    formats = tuple(_filled_format(form, preset, rate_hz) for form in named)
    return filled.model_copy(update={"formats": formats, "loudness": _filled_loudness(filled.loudness, preset)})


def _without_bitrate(form: OutputFormat) -> OutputFormat:
    return form.model_copy(update={"bitrate_kbps": None})


def _filled_format(form: OutputFormat, preset: Output, rate_hz: int) -> OutputFormat:
    """With the preset's bitrate for such files, if the sample rate allows it."""
    kbps = next((each.bitrate_kbps for each in preset.formats if each.type is form.type), None)
    if form.bitrate_kbps is not None or kbps is None or kbps not in bitrates_kbps(form.type, rate_hz):
        return form
    return form.model_copy(update={"bitrate_kbps": kbps})


def _filled_loudness(loudness: Loudness | None, preset: Output) -> Loudness | None:
    if loudness is None or preset.loudness is None:
        return loudness
    named: dict[str, JsonValue] = loudness.model_dump(mode="json", exclude_unset=True)
    return Loudness.model_validate(preset.loudness.model_dump(mode="json") | named)
