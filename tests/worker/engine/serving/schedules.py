"""Requests of all kinds that come and go as they please, for tests that the codes of none depend on the others."""

from __future__ import annotations

from hypothesis import strategies as st

from worker.engine.interface import BuiltInSpeaker, SamplingParams, SpeechRequest, TextMode, TokenSampling

TEXTS = ("Hi.", "the rain in the north", "No, thanks: not today, and not on Sunday either.", "2 x 3 = 6")
DRAWS = (
    TokenSampling(),
    TokenSampling(temperature=0.0),
    TokenSampling(temperature=1.3, top_k=0),
    TokenSampling(temperature=0.7, top_k=8),
    TokenSampling(temperature=1.0, top_k=20, top_p=0.8),
)

Visit = tuple[SpeechRequest, int, int | None]
"""A request without an id, the step of its arrival, and the steps until it is cancelled, if it is."""

requests = st.builds(
    SpeechRequest,
    request_id=st.just(""),
    text=st.sampled_from(TEXTS),
    conditioning=st.builds(BuiltInSpeaker, name=st.sampled_from(("ryan", "eric", "serena"))),
    language=st.sampled_from(("auto", "english", "chinese")),
    text_mode=st.sampled_from(TextMode),
    sampling=st.builds(
        SamplingParams,
        talker=st.sampled_from(DRAWS),
        predictor=st.sampled_from(DRAWS),
        repetition_penalty=st.sampled_from((1.0, 1.05, 1.5)),
    ),
    seed=st.integers(-(1 << 63), (1 << 63) - 1),
    max_frames=st.integers(1, 14),
)


def schedules(most: int) -> st.SearchStrategy[list[Visit]]:
    """Two visits to `most`. A third of them are cut short."""
    patience = st.one_of(st.none(), st.none(), st.integers(0, 8))
    return st.lists(st.tuples(requests, st.integers(0, 10), patience), min_size=2, max_size=most)
