"""The voice that a caller means by a record, an id or a name."""

from __future__ import annotations

from rhapsode.contract.voices.voices import Voice
from rhapsode.errors import BuiltInVoice, NotFound, Problem


def own_id(voice: Voice | str) -> str:
    """Raises `BuiltInVoice` for a built-in voice."""
    if isinstance(voice, str):
        return voice
    if voice.id is None:
        raise BuiltInVoice(voice.name)
    return voice.id


def path_name(voice: Voice | str) -> str:
    """How the API names a voice for playback: its id, or the name of a built-in one."""
    return voice if isinstance(voice, str) else voice.id or voice.name


def only_match(name: str, found: tuple[Voice, ...]) -> Voice:
    """The voice of that name; one's own before one that a model has brought since. Raises `NotFound`."""
    for voice in sorted(found, key=lambda voice: voice.kind != "own"):
        return voice
    raise NotFound(Problem(404, "voice_not_found", "No such voice", f"no voice is called {name!r}"))
