"""The options of `rhapsode bench --url`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

PatternName = Literal["poisson", "even"]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """A running server, with --url."""

    target: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Kind of server: rhapsode (default), rhapsode-live, rhapsode-jobs, openai, kokoro, vllm-omni, "
            "sglang-omni, nari or nari-live.",
        ),
    ] = None
    model: Annotated[str | None, typer.Option(help="Send this with each request. Default: the server chooses.")] = None
    voice: Annotated[str | None, typer.Option(help="Send this with each request. Default: the server chooses.")] = None
    instructions: Annotated[str | None, typer.Option(help="Speaking style, or the voice to design.")] = None
    task: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="custom-voice, voice-design (with --instructions), x-vector or in-context (with --reference). "
            "Default: the server chooses.",
        ),
    ] = None
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="WAV", help="A recording: --task clones its voice, and --quality compares voices with it."
        ),
    ] = None
    reference_text: Annotated[str | None, typer.Option(help="The words of the recording, for in-context.")] = None
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=JSON", help="Another field of each request, such as seed=7. Repeatable."),
    ] = None
    key_from: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE", help="Environment variable with the key. For Rhapsode: RHAPSODE_API_KEY."),
    ] = None
    rates: Annotated[
        str | None, typer.Option(metavar="N,N...", help="Requests per second. Each number is one measurement.")
    ] = None
    arrivals: Annotated[
        PatternName | None, typer.Option(help="Spacing of requests with --rates: poisson (default), or even.")
    ] = None
    recorded: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Replay recorded requests: one line for each, with its second.")
    ] = None
    ramp: Annotated[
        bool, typer.Option("--ramp", help="Find the largest number of streams without buffer underruns.")
    ] = False
    buffer: Annotated[
        float | None, typer.Option(min=0, max=10_000, help="Playback buffer in ms for counting underruns. Default: 0.")
    ] = None
    seconds: Annotated[float | None, typer.Option(min=1, max=3600, help="Length of a measurement. Default: 20.")] = None
    warm_up: Annotated[
        float | None, typer.Option(min=0, max=3600, help="Uncounted seconds before each measurement. Default: 5.")
    ] = None
    lengths: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Lengths of texts: short,medium,long. Default: all.")
    ] = None
    languages: Annotated[str | None, typer.Option(metavar="NAMES", help="Languages: en,zh,mixed. Default: en.")] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of texts and arrivals. Default: 0.")] = None
    clients: Annotated[
        int | None, typer.Option(min=1, max=64, help="Client processes. Default: one for two cores, at most 4.")
    ] = None
    quality: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="Number of texts to rate, each spoken twice.")
    ] = None
    whisper: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Weights of faster-whisper for --quality, which read Chinese too."),
    ] = None
    recordings: Annotated[Path | None, typer.Option(metavar="DIR", help="Save the recordings of --quality here.")] = (
        None
    )
    continue_: Annotated[bool, typer.Option("--continue", help="Add missing measurements to --json.")] = False
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="URL|REPORT",
            help="Compare with a server, in turns, or with a report. Status 1: --url is worse, of two servers twice.",
        ),
    ] = None
    worse_than: Annotated[
        float | None,
        typer.Option(min=1, max=100, help="With --baseline: the factor that counts as worse. Default: 1.25."),
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure for 90 seconds, with texts for the server's speed.")
    ] = False
