# Made from rhapsode/contract/ by `make generated`; change that, not this file.
"""Options of a job for commands: what each is called in the API, its type, and what its help says."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rhapsode.cli.job_fields import JobField

Model = Annotated[str | None, typer.Option(help="A model of the server; else its only one."), JobField("model")]
Voice = Annotated[
    str | None,
    typer.Option(help="A voice of the model, or your own by name or id; else the model's first."),
    JobField("voice"),
]
Language = Annotated[
    str | None, typer.Option(help="A language of the model, or auto; else auto."), JobField("language")
]
Instructions = Annotated[
    str | None,
    typer.Option(help="How to speak, in your words; for a voice design model: who speaks."),
    JobField("instructions"),
]
PronunciationDictionaries = Annotated[
    list[str] | None,
    typer.Option(metavar="DICTIONARY", help="pd_...@3, or pd_... for the newest version; may be repeated."),
    JobField("pronunciation_dictionaries"),
]
Seed = Annotated[
    int | None,
    typer.Option(help="The same text and seed give the same speech; else random, shown in the job."),
    JobField("seed", wanted="between 0 and 9007199254740991"),
]
PausesSentenceS = Annotated[
    float | None,
    typer.Option(help="0 to 10: silence after the last sentence of a segment."),
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
    typer.Option(help="0 to 10: minimum silence before a chapter."),
    JobField("pauses.chapter_s", wanted="between 0 and 10"),
]
PausesLineS = Annotated[
    float | None,
    typer.Option(help="0 to 10: silence after a line of verse, <br> or a hard break."),
    JobField("pauses.line_s", wanted="between 0 and 10"),
]
PausesCutS = Annotated[
    float | None,
    typer.Option(help="0 to 10: silence where a sentence is cut, or its voice changes."),
    JobField("pauses.cut_s", wanted="between 0 and 10"),
]
PausesInside = Annotated[
    Literal["spoken", "asked"] | None,
    typer.Option(help="Inside packed segments: asked stretches English sentence ends to sentence_s; else spoken."),
    JobField("pauses.inside"),
]
SamplingDoSample = Annotated[
    bool | None, typer.Option(help="false is greedy, as temperature 0."), JobField("sampling.do_sample")
]
SamplingTemperature = Annotated[
    float | None, typer.Option(help="0 to 2: 0 is greedy."), JobField("sampling.temperature", wanted="between 0 and 2")
]
SamplingTopP = Annotated[
    float | None,
    typer.Option(help="Up to 1: nucleus sampling."),
    JobField("sampling.top_p", wanted="above 0 and at most 1"),
]
SamplingTopK = Annotated[
    int | None,
    typer.Option(help="1 to 1000: number of candidates."),
    JobField("sampling.top_k", wanted="between 1 and 1000"),
]
SamplingRepetitionPenalty = Annotated[
    float | None,
    typer.Option(help="1 to 2: penalty on earlier codes."),
    JobField("sampling.repetition_penalty", wanted="between 1 and 2"),
]
SamplingSubtalkerTemperature = Annotated[
    float | None,
    typer.Option(help="0 to 2: temperature of the other codebooks."),
    JobField("sampling.subtalker_temperature", wanted="between 0 and 2"),
]
SamplingSubtalkerTopP = Annotated[
    float | None,
    typer.Option(help="Up to 1: top_p of the other codebooks."),
    JobField("sampling.subtalker_top_p", wanted="above 0 and at most 1"),
]
SamplingSubtalkerTopK = Annotated[
    int | None,
    typer.Option(help="1 to 1000: top_k of the other codebooks."),
    JobField("sampling.subtalker_top_k", wanted="between 1 and 1000"),
]
SamplingMaxNewTokens = Annotated[
    int | None,
    typer.Option(help="1 to 8192: maximum frames of 80 ms in a segment; else from its text."),
    JobField("sampling.max_new_tokens", wanted="between 1 and 8192"),
]
Emoji = Annotated[
    Literal["dropped", "named"] | None,
    typer.Option(help="named speaks emoji names, in English with normalization: basic; else dropped."),
    JobField("emoji"),
]
QualityGate = Annotated[
    Literal["off", "basic", "asr"] | None,
    typer.Option(
        help="basic finds silence, loops, cuts, wrong lengths and levels; asr also transcribes, with a recogniser "
        "for the language; off checks nothing; else basic."
    ),
    JobField("quality.gate"),
]
QualityMaxAttempts = Annotated[
    int | None,
    typer.Option(help="1 to 10: maximum attempts at a segment; else 3."),
    JobField("quality.max_attempts", wanted="between 1 and 10"),
]
QualityOnExhausted = Annotated[
    Literal["keep_best", "keep_best_or_gap", "silence", "fail"] | None,
    typer.Option(
        help="keep_best keeps the best attempt, but fails the job if all are silent; keep_best_or_gap then leaves "
        "a gap; silence always does; fail fails; else keep_best."
    ),
    JobField("quality.on_exhausted"),
]
OutputPreset = Annotated[
    Literal["acx", "podcast", "audiobook", "broadcast"] | None,
    typer.Option(help="A publisher's values for the absent fields below."),
    JobField("output.preset"),
]
OutputFormatsBitrateKbps = Annotated[
    int | None,
    typer.Option(
        metavar="KBPS", help="1 to 320: for mp3, opus, m4b, aac; else 96, opus 48, or the sample rate's maximum."
    ),
    JobField("output.formats.bitrate_kbps", is_by_hand=True, wanted="between 1 and 320"),
]
OutputSampleRate = Annotated[
    int | None,
    typer.Option(
        metavar="HZ",
        help="In Hz; one of 8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000; else the model's.",
    ),
    JobField("output.sample_rate", wanted="one of 8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000"),
]
OutputSpeed = Annotated[
    float | None,
    typer.Option(metavar="FACTOR", help="0.5 to 2: speed factor at constant pitch, pauses included."),
    JobField("output.speed", wanted="between 0.5 and 2"),
]
OutputLoudnessTargetLufs = Annotated[
    float | None,
    typer.Option(metavar="LUFS", help="-40 to -8: integrated loudness (EBU R128); else unchanged."),
    JobField("output.loudness.target_lufs", wanted="between -40 and -8"),
]
OutputHeadS = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="0 to 10: seconds before the first word of each file."),
    JobField("output.head_s", wanted="between 0 and 10"),
]
OutputTailS = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="0 to 10: seconds after the last word of each file; 0: the usual pause."),
    JobField("output.tail_s", wanted="between 0 and 10"),
]
OutputRoomToneDb = Annotated[
    float | None,
    typer.Option(metavar="DB", help="-90 to -55: background noise level (RMS, dBFS); else digital silence."),
    JobField("output.room_tone_db", wanted="between -90 and -55"),
]
OutputTimestamps = Annotated[
    Literal["segment", "sentence", "word", "character", "off"] | None,
    typer.Option(help="Level of detail of timestamps.json; else off."),
    JobField("output.timestamps"),
]
OutputKaraoke = Annotated[bool | None, typer.Option(help="Word times in vtt subtitles."), JobField("output.karaoke")]
OutputTagsTitle = Annotated[str | None, typer.Option(help="Title."), JobField("output.tags.title")]
OutputTagsAuthor = Annotated[str | None, typer.Option(help="Author."), JobField("output.tags.author")]
OutputTagsNarrator = Annotated[str | None, typer.Option(help="Narrator."), JobField("output.tags.narrator")]
OutputTagsAlbum = Annotated[str | None, typer.Option(help="Album; else the title."), JobField("output.tags.album")]
OutputTagsGenre = Annotated[str | None, typer.Option(help="Genre."), JobField("output.tags.genre")]
OutputTagsDate = Annotated[str | None, typer.Option(help="Year or date."), JobField("output.tags.date")]
OutputTagsPublisher = Annotated[str | None, typer.Option(help="Publisher."), JobField("output.tags.publisher")]
OutputTagsCopyright = Annotated[str | None, typer.Option(help="Copyright."), JobField("output.tags.copyright")]
OutputTagsIsbn = Annotated[str | None, typer.Option(help="10 or 13 digits."), JobField("output.tags.isbn")]
OutputTagsLanguage = Annotated[
    str | None, typer.Option(help="Such as en-GB; else the document's, or the job's."), JobField("output.tags.language")
]
OutputTagsSeries = Annotated[str | None, typer.Option(help="Series."), JobField("output.tags.series")]
OutputTagsSeriesPart = Annotated[
    str | None, typer.Option(help="Part of the series."), JobField("output.tags.series_part")
]
OutputTagsDescription = Annotated[str | None, typer.Option(help="Summary."), JobField("output.tags.description")]
OutputDestinationPrefix = Annotated[
    str | None,
    typer.Option(metavar="FOLDERS", help="Folders in the service's bucket, such as books/42; else the job's folder."),
    JobField("output.destination.prefix"),
]
Priority = Annotated[
    Literal["high", "normal", "low"] | None, typer.Option(help="High goes first; else normal."), JobField("priority")
]
NotBefore = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Start after this time, at most 90 days ahead; 2026-12-01T08:00 is local time."),
    JobField("not_before", is_time=True),
]
Deadline = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="A running job fails then; a waiting job expires; 2026-12-01T08:00 is local time."
    ),
    JobField("deadline", is_time=True),
]
RetryQualityGate = Annotated[
    Literal["off", "basic", "asr"] | None,
    typer.Option(
        help="basic finds silence, loops, cuts, wrong lengths and levels; asr also transcribes, with a recogniser "
        "for the language; off checks nothing; else as the job has it."
    ),
    JobField("quality.gate"),
]
RetryQualityMaxAttempts = Annotated[
    int | None,
    typer.Option(help="1 to 10: maximum attempts at a segment; else as the job has it."),
    JobField("quality.max_attempts", wanted="between 1 and 10"),
]
RetryQualityOnExhausted = Annotated[
    Literal["keep_best", "keep_best_or_gap", "silence", "fail"] | None,
    typer.Option(
        help="keep_best keeps the best attempt, but fails the job if all are silent; keep_best_or_gap then leaves "
        "a gap; silence always does; fail fails; else as the job has it."
    ),
    JobField("quality.on_exhausted"),
]
RetrySamplingTemperature = Annotated[
    float | None,
    typer.Option(help="0 to 2: 0 is greedy; else as the job has it."),
    JobField("sampling.temperature", wanted="between 0 and 2"),
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
    typer.Option(help="How to speak, in your words; for a voice design model: who speaks."),
    JobField("instructions"),
]
SegmentSeed = Annotated[
    int | None,
    typer.Option(help="Of the first attempt, exactly as it is."),
    JobField("seed", wanted="between 0 and 9007199254740991"),
]
