# Made from rhapsode/contract/ by `make generated`; change that, not this file.
"""Options of a job for commands: what each is called in the API, its type, and what its help says."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rhapsode.cli.job_fields import JobField

Model = Annotated[str | None, typer.Option(help="A model of the server; else its only one."), JobField("model")]
Voice = Annotated[
    str | None,
    typer.Option(help="A voice of the model, or one of yours by name or id; else the model's first."),
    JobField("voice"),
]
RefText = Annotated[
    str | None,
    typer.Option(
        help="With a voice of yours: what its recording says, in place of what is known of it; with ref_audio: "
        "what that says."
    ),
    JobField("ref_text"),
]
XVectorOnly = Annotated[
    bool | None,
    typer.Option(help="With a voice of yours or ref_audio: speak from its embedding alone."),
    JobField("x_vector_only"),
]
IfCacheMissing = Annotated[
    Literal["compute", "wait", "fail"] | None,
    typer.Option(
        help="With a voice of yours that is not ready: build it on the way, wait for it, or refuse the job; else "
        "compute."
    ),
    JobField("if_cache_missing"),
]
RefAudio = Annotated[
    str | None,
    typer.Option(
        help="In place of voice: a recording to speak like, as an upload's id, a data URL or an https address."
    ),
    JobField("ref_audio"),
]
Consent = Annotated[
    str | None,
    typer.Option(help="With ref_audio or speaker_embedding: the statement that the speaker agrees."),
    JobField("consent"),
]
Language = Annotated[
    str | None,
    typer.Option(help="A language of the model, or auto, the model's choice; else auto."),
    JobField("language"),
]
Instructions = Annotated[
    str | None,
    typer.Option(help="How it is spoken, or with a model that designs voices who speaks, in your words."),
    JobField("instructions"),
]
Normalization = Annotated[
    Literal["off", "basic"] | None,
    typer.Option(
        help="basic: numbers, dates, money and units as words, in English all that is not read as it is written; "
        "the plan shows them; else as the model's text_front_end wants it."
    ),
    JobField("normalization"),
]
PronunciationDictionaries = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DICTIONARY",
        help="How words are respelt: pd_...@3, or pd_... for its newest version now; may be repeated.",
    ),
    JobField("pronunciation_dictionaries"),
]
Seed = Annotated[
    int | None,
    typer.Option(help="The same text and seed give the same speech; else drawn at random and told in the job."),
    JobField("seed", wanted="between 0 and 9007199254740991"),
]
Reproducibility = Annotated[
    Literal["best_effort", "strict"] | None,
    typer.Option(
        help="strict: equal requests give equal speech, whatever else the workers speak at the time; else best_effort."
    ),
    JobField("reproducibility"),
]
PausesSentenceS = Annotated[
    float | None,
    typer.Option(help="0 to 10: silence after a sentence that is a segment's last, in seconds."),
    JobField("pauses.sentence_s", wanted="between 0 and 10"),
]
PausesParagraphS = Annotated[
    float | None,
    typer.Option(help="0 to 10: silence after a paragraph."),
    JobField("pauses.paragraph_s", wanted="between 0 and 10"),
]
PausesHeadingS = Annotated[
    float | None,
    typer.Option(help="0 to 10: silence after a heading."),
    JobField("pauses.heading_s", wanted="between 0 and 10"),
]
PausesChapterS = Annotated[
    float | None,
    typer.Option(help="0 to 10: the least silence before a chapter."),
    JobField("pauses.chapter_s", wanted="between 0 and 10"),
]
PausesLineS = Annotated[
    float | None,
    typer.Option(help="0 to 10: silence after a line of verse, <br> or a hard break."),
    JobField("pauses.line_s", wanted="between 0 and 10"),
]
PausesCutS = Annotated[
    float | None,
    typer.Option(
        help="0 to 10: silence where a sentence goes on that is too long, or that another voice goes on with."
    ),
    JobField("pauses.cut_s", wanted="between 0 and 10"),
]
PausesInside = Annotated[
    Literal["spoken", "asked"] | None,
    typer.Option(
        help="Between sentences that are spoken in one piece (segmentation: packed): asked makes them sentence_s "
        "long, in English, where a silence is found at the end of a sentence; else spoken."
    ),
    JobField("pauses.inside"),
]
SamplingDoSample = Annotated[
    bool | None,
    typer.Option(help="false takes the likeliest everywhere, as temperature 0 does; true draws."),
    JobField("sampling.do_sample"),
]
SamplingTemperature = Annotated[
    float | None,
    typer.Option(help="0 to 2: how freely it is drawn; 0 always takes the likeliest."),
    JobField("sampling.temperature", wanted="between 0 and 2"),
]
SamplingTopP = Annotated[
    float | None,
    typer.Option(help="Up to 1: draw among the likeliest of this share."),
    JobField("sampling.top_p", wanted="above 0 and at most 1"),
]
SamplingTopK = Annotated[
    int | None,
    typer.Option(help="1 to 1000: draw among so many."),
    JobField("sampling.top_k", wanted="between 1 and 1000"),
]
SamplingRepetitionPenalty = Annotated[
    float | None,
    typer.Option(help="1 to 2: how much less likely what was drawn before becomes."),
    JobField("sampling.repetition_penalty", wanted="between 1 and 2"),
]
SamplingSubtalkerTemperature = Annotated[
    float | None,
    typer.Option(help="0 to 2: temperature of the codes that refine a frame."),
    JobField("sampling.subtalker_temperature", wanted="between 0 and 2"),
]
SamplingSubtalkerTopP = Annotated[
    float | None,
    typer.Option(help="Up to 1: top_p of the codes that refine a frame."),
    JobField("sampling.subtalker_top_p", wanted="above 0 and at most 1"),
]
SamplingSubtalkerTopK = Annotated[
    int | None,
    typer.Option(help="1 to 1000: top_k of the codes that refine a frame."),
    JobField("sampling.subtalker_top_k", wanted="between 1 and 1000"),
]
SamplingMaxNewTokens = Annotated[
    int | None,
    typer.Option(
        help="1 to 8192: no more frames of 80 ms for one segment: speech is cut there; else as its text suggests."
    ),
    JobField("sampling.max_new_tokens", wanted="between 1 and 8192"),
]
Reuse = Annotated[
    bool | None,
    typer.Option(help="false: every segment is spoken, also one that an earlier job of yours has spoken."),
    JobField("reuse"),
]
Emoji = Annotated[
    Literal["dropped", "named"] | None,
    typer.Option(
        help="named: emoji are said by their names where normalization is basic and the language English, not "
        "passed over; else dropped."
    ),
    JobField("emoji"),
]
QualityGate = Annotated[
    Literal["off", "basic", "asr"] | None,
    typer.Option(
        help="basic hears silence, loops, cuts, wrong lengths and levels; asr also reads the speech back and needs "
        "a recogniser for the language (see /v1/models); off checks nothing; else basic."
    ),
    JobField("quality.gate"),
]
QualityMaxAttempts = Annotated[
    int | None,
    typer.Option(help="1 to 10: times a segment is spoken at most; else 3."),
    JobField("quality.max_attempts", wanted="between 1 and 10"),
]
QualityOnExhausted = Annotated[
    Literal["keep_best", "keep_best_or_gap", "silence", "fail"] | None,
    typer.Option(
        help="Of a segment that never passes: keep_best: the least bad attempt is kept, flagged and warned of, and "
        "the job fails where nothing can be heard in any; keep_best_or_gap: there, a gap of silence is left "
        "and listed; silence: a gap, whatever was found; fail: the job fails, whatever was found; else "
        "keep_best."
    ),
    JobField("quality.on_exhausted"),
]
OutputPreset = Annotated[
    Literal["acx", "podcast", "audiobook", "broadcast"] | None,
    typer.Option(help="Whose demands the files meet: stands for values of the fields below, where these are left out."),
    JobField("output.preset"),
]
OutputFormatsFiles = Annotated[
    Literal["whole", "chapters"] | None,
    typer.Option(
        help="chapters: a file for each chapter, numbered and named by its title; of a text without any, one; else "
        "whole."
    ),
    JobField("output.formats.files", is_by_hand=True),
]
OutputFormatsBitrateKbps = Annotated[
    int | None,
    typer.Option(
        metavar="KBPS",
        help="1 to 320: of mp3, opus, m4b and aac; else 96, of opus 48, or the most that the sample rate allows.",
    ),
    JobField("output.formats.bitrate_kbps", is_by_hand=True, wanted="between 1 and 320"),
]
OutputSampleRate = Annotated[
    int | None,
    typer.Option(
        metavar="HZ",
        help="Resample, in Hz; one of 8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000; else the "
        "model's own.",
    ),
    JobField("output.sample_rate", wanted="one of 8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000"),
]
OutputSpeed = Annotated[
    float | None,
    typer.Option(
        metavar="FACTOR",
        help="0.5 to 2: how much faster than it is spoken, at the same pitch; pauses are shorter in the same "
        "proportion.",
    ),
    JobField("output.speed", wanted="between 0.5 and 2"),
]
OutputLoudnessTargetLufs = Annotated[
    float | None,
    typer.Option(
        metavar="LUFS", help="-40 to -8: bring the whole to this loudness (EBU R128); else as the model speaks."
    ),
    JobField("output.loudness.target_lufs", wanted="between -40 and -8"),
]
OutputHeadS = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="0 to 10: seconds before the first word of the whole, and of each chapter where these are files; 0: none.",
    ),
    JobField("output.head_s", wanted="between 0 and 10"),
]
OutputTailS = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="0 to 10: seconds behind the last word, likewise, in place of the pause there; 0: that pause.",
    ),
    JobField("output.tail_s", wanted="between 0 and 10"),
]
OutputRoomToneDb = Annotated[
    float | None,
    typer.Option(
        metavar="DB",
        help="-90 to -55: a very quiet noise under everything, of this level (RMS, dB of full scale), so that no "
        "pause is digital silence; else none.",
    ),
    JobField("output.room_tone_db", wanted="between -90 and -55"),
]
OutputChapters = Annotated[
    Literal["auto", "off"] | None,
    typer.Option(help="auto: marks in every format that has them, from the document's chapters; else auto."),
    JobField("output.chapters"),
]
OutputTimestamps = Annotated[
    Literal["segment", "sentence", "word", "character", "off"] | None,
    typer.Option(help="Timestamps.json says when what is heard, down to this level; else off."),
    JobField("output.timestamps"),
]
OutputKaraoke = Annotated[
    bool | None, typer.Option(help="Subtitles of type vtt say when each word is heard."), JobField("output.karaoke")
]
OutputTagsTitle = Annotated[str | None, typer.Option(help="What the book is called."), JobField("output.tags.title")]
OutputTagsAuthor = Annotated[str | None, typer.Option(help="Who wrote it."), JobField("output.tags.author")]
OutputTagsNarrator = Annotated[str | None, typer.Option(help="Who reads it."), JobField("output.tags.narrator")]
OutputTagsAlbum = Annotated[
    str | None, typer.Option(help="What the files belong to; else the title."), JobField("output.tags.album")
]
OutputTagsGenre = Annotated[str | None, typer.Option(help="A word, such as Fiction."), JobField("output.tags.genre")]
OutputTagsDate = Annotated[str | None, typer.Option(help="A year or a day."), JobField("output.tags.date")]
OutputTagsPublisher = Annotated[str | None, typer.Option(help="Who publishes it."), JobField("output.tags.publisher")]
OutputTagsCopyright = Annotated[
    str | None, typer.Option(help="Who has which rights."), JobField("output.tags.copyright")
]
OutputTagsIsbn = Annotated[
    str | None, typer.Option(help="The book's number, of 10 or 13 digits."), JobField("output.tags.isbn")
]
OutputTagsLanguage = Annotated[
    str | None,
    typer.Option(help="What is spoken, such as en-GB; else the document's, or the job's."),
    JobField("output.tags.language"),
]
OutputTagsSeries = Annotated[
    str | None, typer.Option(help="What the book is a part of."), JobField("output.tags.series")
]
OutputTagsSeriesPart = Annotated[
    str | None, typer.Option(help="Which part of the series it is."), JobField("output.tags.series_part")
]
OutputTagsDescription = Annotated[
    str | None, typer.Option(help="What it is about."), JobField("output.tags.description")
]
OutputCover = Annotated[
    str | None,
    typer.Option(
        help="An upload, upl_..., with a JPEG or PNG of up to 8 MiB and 10,000 pixels a side, in place of the "
        "document's own."
    ),
    JobField("output.cover"),
]
OutputDestinationPrefix = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDERS",
        help="Keep the files under these folders of the service's bucket, such as books/42; else among the job's "
        "other objects.",
    ),
    JobField("output.destination.prefix"),
]
Priority = Annotated[
    Literal["high", "normal", "low"] | None, typer.Option(help="Who goes first; else normal."), JobField("priority")
]
NotBefore = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Nothing of the job is done before this time, 90 days away at most; 2026-12-01T08:00 is local time.",
    ),
    JobField("not_before", is_time=True),
]
Deadline = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="A job that is not done by then fails, one that has not started expires; 2026-12-01T08:00 is local time.",
    ),
    JobField("deadline", is_time=True),
]
RetentionS = Annotated[
    int | None,
    typer.Option(help="How long the result is kept after the job's end, in seconds; else 604800."),
    JobField("retention_s", wanted="between 60 and 7776000"),
]
RetryQualityGate = Annotated[
    Literal["off", "basic", "asr"] | None,
    typer.Option(
        help="basic hears silence, loops, cuts, wrong lengths and levels; asr also reads the speech back and needs "
        "a recogniser for the language (see /v1/models); off checks nothing; else as the job has it."
    ),
    JobField("quality.gate"),
]
RetryQualityMaxAttempts = Annotated[
    int | None,
    typer.Option(help="1 to 10: times a segment is spoken at most; else as the job has it."),
    JobField("quality.max_attempts", wanted="between 1 and 10"),
]
RetryQualityOnExhausted = Annotated[
    Literal["keep_best", "keep_best_or_gap", "silence", "fail"] | None,
    typer.Option(
        help="Of a segment that never passes: keep_best: the least bad attempt is kept, flagged and warned of, and "
        "the job fails where nothing can be heard in any; keep_best_or_gap: there, a gap of silence is left "
        "and listed; silence: a gap, whatever was found; fail: the job fails, whatever was found; else as the "
        "job has it."
    ),
    JobField("quality.on_exhausted"),
]
RetrySamplingDoSample = Annotated[
    bool | None,
    typer.Option(
        help="false takes the likeliest everywhere, as temperature 0 does; true draws; else as the job has it."
    ),
    JobField("sampling.do_sample"),
]
RetrySamplingTemperature = Annotated[
    float | None,
    typer.Option(help="0 to 2: how freely it is drawn; 0 always takes the likeliest; else as the job has it."),
    JobField("sampling.temperature", wanted="between 0 and 2"),
]
RetrySamplingTopP = Annotated[
    float | None,
    typer.Option(help="Up to 1: draw among the likeliest of this share; else as the job has it."),
    JobField("sampling.top_p", wanted="above 0 and at most 1"),
]
RetrySamplingTopK = Annotated[
    int | None,
    typer.Option(help="1 to 1000: draw among so many; else as the job has it."),
    JobField("sampling.top_k", wanted="between 1 and 1000"),
]
RetrySamplingRepetitionPenalty = Annotated[
    float | None,
    typer.Option(help="1 to 2: how much less likely what was drawn before becomes; else as the job has it."),
    JobField("sampling.repetition_penalty", wanted="between 1 and 2"),
]
RetrySamplingSubtalkerTemperature = Annotated[
    float | None,
    typer.Option(help="0 to 2: temperature of the codes that refine a frame; else as the job has it."),
    JobField("sampling.subtalker_temperature", wanted="between 0 and 2"),
]
RetrySamplingSubtalkerTopP = Annotated[
    float | None,
    typer.Option(help="Up to 1: top_p of the codes that refine a frame; else as the job has it."),
    JobField("sampling.subtalker_top_p", wanted="above 0 and at most 1"),
]
RetrySamplingSubtalkerTopK = Annotated[
    int | None,
    typer.Option(help="1 to 1000: top_k of the codes that refine a frame; else as the job has it."),
    JobField("sampling.subtalker_top_k", wanted="between 1 and 1000"),
]
RetrySamplingMaxNewTokens = Annotated[
    int | None,
    typer.Option(
        help="1 to 8192: no more frames of 80 ms for one segment: speech is cut there; else as the job has it."
    ),
    JobField("sampling.max_new_tokens", wanted="between 1 and 8192"),
]
RetrySeed = Annotated[
    int | None,
    typer.Option(help="Of the job; else as the job has it."),
    JobField("seed", wanted="between 0 and 9007199254740991"),
]
SegmentText = Annotated[str | None, typer.Option(help="What it says from now on."), JobField("text")]
SegmentVoice = Annotated[
    str | None, typer.Option(help="A voice of the model, or one of yours by name or id."), JobField("voice")
]
SegmentSpeaker = Annotated[
    str | None, typer.Option(help="A name of the job's cast; \"\" is the job's own voice."), JobField("speaker")
]
SegmentLanguage = Annotated[str | None, typer.Option(help="A language of the model, or auto."), JobField("language")]
SegmentInstructions = Annotated[
    str | None,
    typer.Option(help="How it is spoken, or with a model that designs voices who speaks, in your words."),
    JobField("instructions"),
]
SegmentSeed = Annotated[
    int | None,
    typer.Option(help="Of the first attempt, exactly as it is."),
    JobField("seed", wanted="between 0 and 9007199254740991"),
]
