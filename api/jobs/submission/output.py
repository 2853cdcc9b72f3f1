"""What a request's output means: every default filled in, every format asked whether it takes it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from api.http.problems.problem import FieldViolation, invalid
from rhapsode.contract.jobs.output import Files, Loudness, Output, OutputFormat
from rhapsode.contract.jobs.presets import PRESETS
from storage.narration.audio_formats import FORMATS, bitrates_kbps, default_bitrate_kbps


def resolve_output(request: Output, model_rate_hz: int) -> Output:
    """Raises a `Problem` that names every part that does not fit.

    model_rate_hz: of the model's own audio, which counts where the request names no sample rate.
    """
    request = with_preset(request, model_rate_hz)
    rate_hz = request.sample_rate or model_rate_hz
    if violations := [*_misfits(request, rate_hz)]:
        raise invalid(violations)
    return request.model_copy(update={"formats": tuple(_format(form, rate_hz) for form in request.formats)})


def _misfits(request: Output, rate_hz: int) -> Iterator[FieldViolation]:
    kinds = [(form.type, form.files) for form in request.formats]
    for place, form in enumerate(request.formats):
        pointer = f"/output/formats/{place}"
        if (form.type, form.files) in kinds[:place]:
            named = f"{form.type} in chapters" if form.files is Files.CHAPTERS else form.type
            yield FieldViolation("repeated", f"{named} is named twice", pointer=f"{pointer}/type")
        elif rate_hz not in (rates := FORMATS[form.type].sample_rates_hz):
            known = ", ".join(map(str, rates))
            detail = f"{form.type} has no {rate_hz} Hz, only {known}; choose one in `sample_rate`"
            yield FieldViolation("not_supported", detail, pointer=f"{pointer}/type")
        elif form.bitrate_kbps is not None:
            yield from _bitrate_misfits(form, form.bitrate_kbps, rate_hz, f"{pointer}/bitrate_kbps")
    for place, name in enumerate(request.subtitles):
        if name in request.subtitles[:place]:
            yield FieldViolation("repeated", f"{name} is named twice", pointer=f"/output/subtitles/{place}")


def _bitrate_misfits(form: OutputFormat, kbps: int, rate_hz: int, pointer: str) -> Iterator[FieldViolation]:
    bitrates = bitrates_kbps(form.type, rate_hz)
    if not bitrates:
        yield FieldViolation("not_supported", f"{form.type} has no bitrate to choose", pointer=pointer)
    elif kbps not in bitrates:
        known = f"{bitrates[0]} to {bitrates[-1]}" if isinstance(bitrates, range) else ", ".join(map(str, bitrates))
        yield FieldViolation("out_of_range", f"{form.type} at {rate_hz} Hz takes {known} kbit/s", pointer=pointer)


def _format(form: OutputFormat, rate_hz: int) -> OutputFormat:
    if form.bitrate_kbps is not None:
        return form
    return form.model_copy(update={"bitrate_kbps": default_bitrate_kbps(form.type, rate_hz)})


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
