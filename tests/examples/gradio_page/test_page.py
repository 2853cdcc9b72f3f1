"""The page of Gradio's, asked by Gradio's own client, against a whole system on the fake engine.

`make demo-test` runs it in an environment of its own: Gradio is no part of the others.
"""
# pyright: reportMissingImports=false, reportUnknownParameterType=false

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rhapsode import Rhapsode
from tests.page.texts import hummed
from tests.threads import BoundedExecutor
from tests.tools.wanted import without

if TYPE_CHECKING:
    from gradio_client import Client

pytestmark = pytest.mark.filterwarnings("ignore")

TEXT = "The wind and the sun were disputing which was the stronger."
PATIENCE_S = 120.0


@pytest.fixture
def asked(client: Rhapsode) -> Iterator[Client]:
    """Gradio's client of the page."""
    if shutil.which("ffmpeg") is None:
        without("Gradio streams sound through ffmpeg, which this machine lacks: `make demo-test` gets it")
    from gradio_client import Client

    from examples.gradio_page.page import page

    blocks = page(client)
    _, url, _ = blocks.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")
    yield Client(url, verbose=False)
    blocks.close()


def told(outcome: Any) -> str:
    """What stood in the field `So far` at last."""
    _, facts = outcome
    return facts


def test_a_voice_of_the_models_is_heard_in_pieces(asked: Client) -> None:
    job = asked.submit(TEXT, None, 1.0, api_name="/built_in")

    assert "first audio after 0" in told(job.result(timeout=PATIENCE_S))
    pieces = [told(each) for each in job.outputs()]
    assert len(pieces) > 1
    assert len(set(pieces)) == len(pieces)


def test_a_recording_is_spoken_like(asked: Client, tmp_path: Path) -> None:
    from gradio_client import handle_file
    from gradio_client.exceptions import AppError

    recording = tmp_path / "ada.wav"
    recording.write_bytes(hummed())

    with pytest.raises(AppError, match="its speaker's consent"):
        asked.predict(TEXT, handle_file(recording), "La la la.", False, api_name="/cloned")
    outcome = asked.predict(TEXT, handle_file(recording), "La la la.", True, api_name="/cloned")
    assert "first audio after" in told(outcome)


def test_what_the_server_refuses_is_shown(asked: Client) -> None:
    from gradio_client.exceptions import AppError

    with pytest.raises(AppError):
        asked.predict(TEXT, "nobody", 1.0, api_name="/built_in")


def test_a_text_is_heard_while_it_is_written(asked: Client) -> None:
    with BoundedExecutor(1) as thread:
        speaking = asked.submit(None, api_name="/while_written")
        thread.submit(_write, asked, speaking).result(PATIENCE_S)

        assert "first audio after" in told(speaking.result(timeout=PATIENCE_S))


def _write(asked: Client, speaking: Any) -> None:
    """Not before the page has begun to listen; it goes on until something was heard."""
    text = ""
    while not speaking.outputs():
        text += "wind "
        asked.predict(text, api_name="/write")
        time.sleep(0.05)
    asked.predict(f"{text}and sun.", api_name="/finish")
