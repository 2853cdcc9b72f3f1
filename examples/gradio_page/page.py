"""A Gradio page for the three tasks: a voice of the model, a designed voice, a voice from a recording.

`pip install 'rhapsode[demo]'`, and `ffmpeg` on PATH, which Gradio plays through. Then, beside a running server:

    python -m examples.gradio_page.page --server http://127.0.0.1:8765

It uses the public client alone, and is a start for a page of your own.
"""
# Gradio is an extra, and has no complete types.
# pyright: reportMissingImports=false, reportUnknownParameterType=false

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Unpack

import gradio as gr

from examples.gradio_page.typed_text import TypedText
from examples.gradio_page.wav_pieces import wav_pieces
from rhapsode import Rhapsode, RhapsodeError, StreamOptions
from rhapsode.client.connection import DEFAULT_SERVER
from rhapsode.client.live.chunks import SpeechFacts
from rhapsode.client.live.orders import Texts

Page = Iterator[tuple[bytes, str]]
"""What a button shows, again and again: the next piece of speech, a WAV of its own, and what is known of it."""

EXAMPLE = "The wind and the sun were disputing which was the stronger."


class Demo:
    """What the page's buttons do."""

    def __init__(self, client: Rhapsode) -> None:
        self._client = client
        self._typed: dict[str, TypedText] = {}

    def voices(self) -> list[str]:
        return [voice.name for voice in self._client.voices.list() if voice.models]

    def built_in(self, text: str, voice: str | None, speed: float) -> Page:
        yield from self._spoken(text, voice=voice or None, speed=speed)

    def designed(self, text: str, description: str) -> Page:
        yield from self._spoken(text, task_type="VoiceDesign", instructions=description)

    def cloned(self, text: str, recording: str | None, said: str, agrees: bool) -> Page:  # noqa: FBT001 - as Gradio hands over a checkbox
        """recording: the path of a file. said: its words, or nothing."""
        if recording is None or not agrees:
            raise gr.Error("A clone needs a recording, and its speaker's consent.", print_exception=False)
        with _told_by_the_page():
            upload = self._client.upload(Path(recording))
        yield from self._spoken(
            text,
            task_type="Base",
            ref_audio=upload.id,
            ref_text=said or None,
            x_vector_only_mode=None if said else True,
            consent="The speaker agrees, says who uploaded the recording.",
        )

    def while_written(self, voice: str | None, request: gr.Request) -> Page:
        typed = self._typed[_session(request)] = TypedText()
        try:
            yield from self._spoken(typed, voice=voice or None)
        finally:
            self._typed.pop(_session(request), None)

    def write(self, text: str, request: gr.Request) -> None:
        if typed := self._typed.get(_session(request)):
            typed.show(text)

    def finish(self, text: str, request: gr.Request) -> None:
        if typed := self._typed.get(_session(request)):
            typed.finish(text)

    def _spoken(self, text: Texts, **options: Unpack[StreamOptions]) -> Page:
        with _told_by_the_page(), self._client.stream_speech(text, **options) as stream:
            for samples in wav_pieces(stream):
                yield samples, told(stream.facts)


class _told_by_the_page:
    """An error of Rhapsode's is shown where the user looks."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RhapsodeError):
            raise gr.Error(str(error), print_exception=False) from error


def told(facts: SpeechFacts) -> str:
    who = f"{facts.voice} of {facts.model}: " if facts.voice and facts.model else ""
    return f"{who}first audio after {facts.first_audio_s or 0.0:.3f} s, {facts.audio_s:.1f} s spoken"


def _session(request: gr.Request) -> str:
    return str(request.session_hash)


def page(client: Rhapsode) -> gr.Blocks:
    demo = Demo(client)
    with gr.Blocks(title="Rhapsode") as blocks:
        gr.Markdown("# Rhapsode\nEach text is heard while it is spoken.")
        with gr.Tab("A voice of the model's"):
            _built_in_tab(demo)
        with gr.Tab("A designed voice"):
            _designed_tab(demo)
        with gr.Tab("A cloned voice"):
            _cloned_tab(demo)
        with gr.Tab("While you write"):
            _written_tab(demo)
    return blocks


def _built_in_tab(demo: Demo) -> None:
    text = gr.Textbox(EXAMPLE, label="Text", lines=3)
    voice = gr.Dropdown(demo.voices(), value=None, label="Voice", info="None: the server's choice")
    speed = gr.Slider(0.5, 2.0, 1.0, step=0.05, label="Speed")
    _buttons(demo.built_in, [text, voice, speed], "built_in")


def _designed_tab(demo: Demo) -> None:
    text = gr.Textbox(EXAMPLE, label="Text", lines=3)
    description = gr.Textbox("An old man, warm and slow.", label="Who speaks, in your words")
    _buttons(demo.designed, [text, description], "designed")


def _cloned_tab(demo: Demo) -> None:
    text = gr.Textbox(EXAMPLE, label="Text", lines=3)
    recording = gr.Audio(sources=["upload", "microphone"], type="filepath", format="wav", label="Recording")
    said = gr.Textbox(label="What the recording says", info="Left empty: only the sound of the voice is taken")
    agrees = gr.Checkbox(label="The speaker agrees")
    _buttons(demo.cloned, [text, recording, said, agrees], "cloned")


def _written_tab(demo: Demo) -> None:
    text = gr.Textbox(label="Text", lines=3, info="Each word is said when a space follows it")
    voice = gr.Dropdown(demo.voices(), value=None, label="Voice", info="None: the server's choice")
    _buttons(demo.while_written, [voice], "while_written", action="Start")
    finish = gr.Button("Finish")
    text.input(demo.write, [text], None, api_name="write", queue=False, show_progress="hidden")
    finish.click(demo.finish, [text], None, api_name="finish", queue=False)


def _buttons(run: object, inputs: list[object], name: str, action: str = "Speak") -> None:
    with gr.Row():
        speak = gr.Button(action, variant="primary")
        stop = gr.Button("Stop")
    audio = gr.Audio(label="Speech", streaming=True, autoplay=True, interactive=False)
    facts = gr.Textbox(label="So far", interactive=False)
    # As many at once as the server has places: it says itself when it is full.
    speaking = speak.click(run, inputs, [audio, facts], api_name=name, concurrency_limit=None)
    stop.click(None, cancels=[speaking])


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--server", default=os.environ.get("RHAPSODE_SERVER_URL", DEFAULT_SERVER), metavar="URL")
    reader.add_argument("--port", type=int, default=7860)
    told = reader.parse_args()
    with Rhapsode(told.server, api_key=os.environ.get("RHAPSODE_API_KEY")) as client:
        page(client).launch(server_name="127.0.0.1", server_port=told.port)


if __name__ == "__main__":
    main()
