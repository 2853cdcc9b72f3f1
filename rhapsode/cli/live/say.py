"""`rhapsode say`: play a text while the server generates it."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli import job_options
from rhapsode.cli.clients import CommonOptions, connected_to_speak
from rhapsode.cli.failures import Misuse, interruptible
from rhapsode.cli.options import ForceOption
from rhapsode.cli.visible import echo
from rhapsode.client.live.written import whole_words

if TYPE_CHECKING:
    from rich.console import Console

    from rhapsode.cli.live.players import OpenPlayer
    from rhapsode.client.live.chunks import AudioChunk, SpeechFacts
    from rhapsode.client.request_options import StreamOptions
    from rhapsode.client.sync.speaking import SpeechStream

STDIN = 0
PlayOption = Annotated[bool | None, typer.Option("--play/--no-play", help="Play it here. Default: play.")]
SaveOption = Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Also write a WAV file.")]
SHOWN = ("audio_s", "first_audio_s", "model", "voice", "findings")
"""Facts of a stream that `--json` prints."""


def say(
    common: CommonOptions,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads standard input word by word.")],
    voice: job_options.Voice = None,
    model: job_options.Model = None,
    language: job_options.Language = None,
    instructions: job_options.Instructions = None,
    speed: Annotated[float | None, typer.Option(min=0.5, max=2.0, help="Speed factor at constant pitch.")] = None,
    seed: job_options.Seed = None,
    do_sample: job_options.SamplingDoSample = None,
    temperature: job_options.SamplingTemperature = None,
    top_k: job_options.SamplingTopK = None,
    top_p: job_options.SamplingTopP = None,
    repetition_penalty: job_options.SamplingRepetitionPenalty = None,
    play: PlayOption = None,
    save: SaveOption = None,
    force: ForceOption = False,
) -> None:
    """Play a text as a server speaks it.

    For instance: rhapsode say "Hello." or: llm "Tell me a story" | rhapsode say -

    It plays through sounddevice if that is installed, otherwise through ffplay. Ctrl-C stops it and saves nothing.
    """
    from rhapsode.cli.consoles import VisibleConsole

    console = VisibleConsole(stderr=True)
    _check_target(save, play, is_forced=force)
    open_player = _chosen_player(console, play, is_saved=save is not None)
    options: StreamOptions = {
        "model": model,
        "voice": voice,
        "language": language,
        "instructions": instructions,
        "speed": speed,
        "seed": seed,
        "do_sample": do_sample,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "repetition_penalty": repetition_penalty,
    }
    spoken = _spoken(text)
    with connected_to_speak(common) as speak, interruptible(), speak(spoken, options) as stream:
        _play(stream, save, open_player, console)
    echo(_document(stream.facts, save) if common.as_json else _summary(stream.facts, save))


def _check_target(save: Path | None, play: bool | None, *, is_forced: bool) -> None:
    if save is None:
        if play is False:
            raise Misuse("--no-play needs --save: otherwise the speech is lost")
        return
    if save.suffix.lower() != ".wav":
        raise Misuse(f"--save: {save} is not a .wav file; `rhapsode narrate` makes other files")
    if save.exists() and not is_forced:
        raise Misuse(f"{save} exists; --force replaces it")
    if not save.parent.is_dir():
        raise Misuse(f"--save: {save.parent} is not a folder")


def _chosen_player(console: Console, play: bool | None, *, is_saved: bool) -> OpenPlayer | None:
    """None with --no-play, or if no player is installed and --save is given."""
    from rhapsode.cli.live.players import NoPlayer, find_player

    if play is False:
        return None
    try:
        return find_player()
    except NoPlayer as error:
        if play or not is_saved:
            raise
        console.print(f"not played: {error}", markup=False, highlight=False, soft_wrap=True)
        return None


def _spoken(text: str) -> str | Iterable[str]:
    """The text, or standard input from its first word on."""
    if text != "-":
        if not text.strip():
            raise Misuse("the text is empty")
        return text
    # Read the descriptor: at exit, the interpreter waits for the lock of a stream that another thread reads.
    pieces = words(lambda size: os.read(STDIN, size))
    first = next((piece for piece in pieces if piece.strip()), None)
    if first is None:
        raise Misuse("standard input has no text to say")
    return chain((first,), pieces)


def _play(stream: SpeechStream, save: Path | None, open_player: OpenPlayer | None, console: Console) -> None:
    from rhapsode.cli.live.playback import Playback, playback
    from rhapsode.cli.live.wav_file import WavFile, wav_file
    from rhapsode.errors import RhapsodeError

    with ExitStack() as opened:
        sinks: list[WavFile | Playback] = []
        if save is not None:
            sinks.append(opened.enter_context(wav_file(save)))
        if open_player is not None:
            sinks.append(opened.enter_context(playback(open_player)))
        for chunk in _with_progress(stream, console):
            for sink in sinks:
                sink.write(chunk)
        if stream.facts.first_audio_s is None:
            raise RhapsodeError("this text has no speech")
        for sink in sinks:
            sink.finish()


def _with_progress(stream: SpeechStream, console: Console) -> Iterator[AudioChunk]:
    """The chunks. A terminal shows their progress in one line."""
    with console.status("waiting for the first words"):
        first = next(stream, None)
    if first is None:
        return
    with console.status(_progress(stream.facts)) as status:
        for chunk in chain((first,), stream):
            yield chunk
            status.update(_progress(stream.facts))


def _progress(facts: SpeechFacts) -> str:
    return f"speaking: first audio after {facts.first_audio_s or 0.0:.3f} s, {facts.audio_s:.1f} s spoken"


def _document(facts: SpeechFacts, save: Path | None) -> str:
    path = None if save is None else str(save)
    return json.dumps({"path": path, **{name: getattr(facts, name) for name in SHOWN}})


def _summary(facts: SpeechFacts, save: Path | None) -> str:
    from rhapsode.cli.formatting import span

    who = [f"{kind} {name}" for kind, name in (("model", facts.model), ("voice", facts.voice)) if name]
    parts = [f"{span(facts.audio_s)} of speech", f"first audio after {facts.first_audio_s or 0.0:.3f} s", *who]
    found = [f"found: {', '.join(facts.findings)}"] if facts.findings else []
    return (f"{save}: " if save else "") + ", ".join(parts + found)


READ_BYTES = 1 << 16

MAX_HELD_CHARS = 1_000
"""A longer word is sent in parts."""


def words(read: Callable[[int], bytes]) -> Iterator[str]:
    """Pieces that end after white space, as soon as they arrive. Joined, they are the text.

    read: returns at most so many bytes, and none at the end. Raises `Misuse` for bytes that are not UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    held = ""
    while data := read(READ_BYTES):
        held += _decoded(decoder, data)
        size = whole_words(held) or (len(held) if len(held) > MAX_HELD_CHARS else 0)
        if size:
            yield held[:size]
            held = held[size:]
    if rest := held + _decoded(decoder, b"", is_last=True):
        yield rest


def _decoded(decoder: codecs.IncrementalDecoder, data: bytes, *, is_last: bool = False) -> str:
    try:
        return decoder.decode(data, is_last)
    except UnicodeDecodeError as error:
        raise Misuse("standard input is not text in UTF-8") from error
