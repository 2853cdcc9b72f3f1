"""What another worker is told: the whole text so far, and the codes of the segment under way."""

from __future__ import annotations

from api.live.kept import KeptStream
from storage.live.messages import Audio, ExtendStream, Resume, SegmentBegins
from tests.api.live.scripted_worker import order


def audio(segment: int, num_samples: int, num_frames: int = 1) -> Audio:
    return Audio(stream="s", segment=segment, num_frames=num_frames, num_samples=num_samples)


def test_a_stream_that_has_no_sound_yet_begins_anew() -> None:
    kept = KeptStream(order("One."))
    kept.begin(SegmentBegins(stream="s", index=0, text="One."))

    assert kept.resume() == (None, b"")
    assert kept.order() == order("One.")


def test_codes_are_kept_as_long_as_their_segment_goes_on() -> None:
    kept = KeptStream(order("One. Two."))
    kept.keep(audio(0, 0), b"ab")
    # Silence that was left out is looked for again.
    assert kept.resume() == (None, b"")
    kept.keep(audio(0, 1_900), b"cd")
    assert kept.resume() == (Resume(segment=0, num_samples_heard=1_900), b"abcd")

    # The worker that goes on announces the segment again.
    assert not kept.begin(SegmentBegins(stream="s", index=0, text="One."))
    kept.keep(audio(0, 1_920), b"ef")
    assert kept.resume() == (Resume(segment=0, num_samples_heard=3_820), b"abcdef")
    # Behind its pause a segment is over, before its worker says so.
    kept.keep(audio(0, 9_600, num_frames=0), b"")
    assert kept.resume() == (Resume(segment=1, num_samples_heard=0), b"")

    kept.end(0)
    assert kept.resume() == (Resume(segment=1, num_samples_heard=0), b"")
    kept.keep(audio(1, 0), b"gh")
    assert kept.resume() == (Resume(segment=1, num_samples_heard=0), b"")
    assert kept.begin(SegmentBegins(stream="s", index=2, text="Three."))


def test_a_text_is_kept_with_what_was_written_since() -> None:
    kept = KeptStream(order("One ", text_is_open=True))
    kept.extend(ExtendStream(stream="s", text="two ", is_last=False))
    assert kept.order() == order("One two ", text_is_open=True)

    kept.extend(ExtendStream(stream="s", text="three.", is_last=True))
    assert kept.order() == order("One two three.")
    assert kept.num_chars == len("One two three.")
