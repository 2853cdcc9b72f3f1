"""How many frames a text may become, and whether its prompt fits. Pure arithmetic.

About one request in two hundred never draws its end; the bound turns an endless utterance into a `LENGTH` finish.
"""

from __future__ import annotations

from worker.engine.errors import RequestRejected

_FRAMES_PER_SECOND = 12.5
_TEXT_TOKENS_PER_SECOND = 4.5
_SLACK = 4
_SLACK_FRAMES = 25
# A prompt that leaves less room than this share of the expected speech would be cut as a rule, not by accident.
_LEAST_ROOM = 1.5
# Rows of a prompt that are not text: role, language, speaker, ends.
_FRAMING_ROWS = 16


def expected_frames(num_text_tokens: int) -> int:
    return round(num_text_tokens / _TEXT_TOKENS_PER_SECOND * _FRAMES_PER_SECOND)


def frame_budget(
    *, num_text_tokens: int, prompt_rows: int, trailing_rows: int, capacity: int, requested: int | None
) -> int:
    """Frames the request may produce: what it asks for, else what its text suggests, within the slot's capacity.

    trailing_rows: text rows that are added to later frames; a slot keeps as many as it has positions, less one.
    Raises RequestRejected when the prompt leaves no sensible room for speech.
    """
    room = capacity - prompt_rows
    if requested is not None and requested < 1:
        raise RequestRejected(f"max_frames should be at least 1, is {requested}")
    if trailing_rows >= capacity:
        raise RequestRejected(
            f"the text of {num_text_tokens} tokens leaves {trailing_rows} for later frames; a slot has room for "
            f"{capacity - 1}"
        )
    wanted = requested or _SLACK * expected_frames(num_text_tokens) + _SLACK_FRAMES
    least = min(wanted, max(1, round(_LEAST_ROOM * expected_frames(num_text_tokens))))
    if room < least:
        raise RequestRejected(
            f"the text of {num_text_tokens} tokens makes a prompt of {prompt_rows} rows and needs room for "
            f"{least} frames of speech, together more than the {capacity} positions of a slot"
        )
    return min(wanted, room)


def open_frame_budget(
    *, num_text_tokens: int, prompt_rows: int, trailing_rows: int, capacity: int, requested: int | None, is_last: bool
) -> int:
    """The same for a text that is spoken while it is written: until its last piece, what the slot has room for.

    Raises RequestRejected when the text grows beyond the slot.
    """
    room = capacity - prompt_rows
    if trailing_rows >= room:
        raise RequestRejected(f"the text has grown to {num_text_tokens} tokens; a slot has room for {room - 1} frames")
    natural = _SLACK * expected_frames(num_text_tokens) + _SLACK_FRAMES if is_last else room
    return min(requested or natural, room)


def max_text_tokens(capacity: int) -> int:
    """The longest text, in tokens, that fits with any built-in conditioning.

    A text token takes more than five positions (its row and its frames), a token of an instruction one. Trading one
    text token for four of an instruction, as `EngineInfo` documents, stays within the slot.
    """
    rows_per_token = 1 + _LEAST_ROOM * _FRAMES_PER_SECOND / _TEXT_TOKENS_PER_SECOND
    return max(0, int((capacity - _FRAMING_ROWS) / rows_per_token))
