# Made from rhapsode/contract/ by `make generated`; change that, not this file.
"""What a caller can say in requests, under the names of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Required, TypedDict

DocumentFormat = Literal["docx", "epub", "html", "md", "pdf", "txt"]

AudioType = Literal["wav", "flac", "mp3", "opus", "m4b", "aac"]

OnExhausted = Literal["keep_best", "keep_best_or_gap", "silence", "fail"]


class SegmentEntryFields(TypedDict, total=False):
    """One entry of a list; absent fields are the job's.

    voice: a voice of the model, or your own by name or id
    speaker: a name of `speakers`, instead of `voice`
    instructions: how to speak, in your words; for a voice design model: who speaks
    speed: speed factor, on top of `output.speed`
    gain_db: gain in the files, in dB
    """

    text: Required[str]
    id: str
    voice: str
    speaker: str
    language: str
    instructions: str
    seed: int
    pause_after_s: float
    speed: float
    gain_db: float


class DocumentFields(TypedDict, total=False):
    """A file of `/v1/uploads`. `include`: chapter ids from a plan; absent: all."""

    upload_id: Required[str]
    format: Required[DocumentFormat]
    include: Sequence[str]
    images: Literal["skip", "alt"]


class JobInputFields(TypedDict, total=False):
    """Exactly one of `text`, `ssml`, `segments`, `document`.

    ssml: an SSML document; `/v1/capabilities` lists its elements
    """

    text: str
    ssml: str
    ssml_mode: Literal["strict", "lenient"]
    segments: Sequence[SegmentEntryFields]
    document: DocumentFields


class SegmentationFields(TypedDict, total=False):
    """How to cut the text, in characters. `packed` aims at `target_chars`; `min_chars` joins shorter lines with others.
    Values above the model's `max_text_chars` are lowered with a warning.
    """

    mode: Literal["sentence", "packed"]
    target_chars: int
    max_chars: int
    min_chars: int


class PausesFields(TypedDict, total=False):
    """Seconds of silence; where several apply, the longest.

    sentence_s: silence after the last sentence of a segment
    paragraph_s: silence after a paragraph
    heading_s: silence after a heading
    chapter_s: minimum silence before a chapter
    line_s: silence after a line of verse, `<br>` or a hard break
    cut_s: silence where a sentence is cut, or its voice changes
    inside: inside packed segments: `asked` stretches English sentence ends to `sentence_s`
    """

    sentence_s: float
    paragraph_s: float
    heading_s: float
    chapter_s: float
    line_s: float
    cut_s: float
    inside: Literal["spoken", "asked"]


class SamplingFields(TypedDict, total=False):
    """Sampling parameters; absent ones are the checkpoint's. `subtalker_…` apply to codebooks 1 and up.

    do_sample: `false` is greedy, as `temperature` 0
    temperature: 0 is greedy
    top_p: nucleus sampling
    top_k: number of candidates
    repetition_penalty: penalty on earlier codes
    subtalker_temperature: `temperature` of the other codebooks
    subtalker_top_p: `top_p` of the other codebooks
    subtalker_top_k: `top_k` of the other codebooks
    max_new_tokens: maximum frames of 80 ms in a segment; absent: from its text
    """

    do_sample: bool
    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    subtalker_temperature: float
    subtalker_top_p: float
    subtalker_top_k: int
    max_new_tokens: int


class QualityFields(TypedDict, total=False):
    """The check of each segment. A rejected segment is retried with another seed, at last in two halves.

    gate: `basic` finds silence, loops, cuts, wrong lengths and levels; `asr` also transcribes, with a recogniser for
        the language; `off` checks nothing
    max_attempts: maximum attempts at a segment
    on_exhausted: `keep_best` keeps the best attempt, but fails the job if all are silent; `keep_best_or_gap` then
        leaves a gap; `silence` always does; `fail` fails
    """

    gate: Literal["off", "basic", "asr"]
    max_attempts: int
    on_exhausted: OnExhausted


class FormatFields(TypedDict, total=False):
    """One file, as players know it, or one for each chapter of the document.

    files: `chapters`: one numbered file for each chapter
    bitrate_kbps: for mp3, opus, m4b, aac; absent: 96, opus 48, or the sample rate's maximum
    """

    type: Required[AudioType]
    files: Literal["whole", "chapters"]
    bitrate_kbps: int


class LoudnessFields(TypedDict, total=False):
    """One gain brings the integrated loudness (EBU R128) of the job, of each chapter, or of each segment to
    `target_lufs`. Before, segments come to one level, each by at most 12 dB; edits of others keep these gains.

    Where the true peak would pass `max_true_peak_db`, a limiter takes off what is too much, and the gain makes up
    for it. If that took more than 6 dB off for more than 1 % of the time, the gain is smaller, and a warning says
    so.

    target_lufs: integrated loudness (EBU R128)
    """

    target_lufs: float
    max_true_peak_db: float
    scope: Literal["job", "chapter", "segment"]


class TagsFields(TypedDict, total=False):
    """Tags of the files; absent ones come from the document. WAV has none.

    title: title
    author: author
    narrator: narrator
    album: album; absent: the title
    genre: genre
    date: year or date
    publisher: publisher
    copyright: copyright
    isbn: 10 or 13 digits
    language: such as en-GB; absent: the document's, or the job's
    series: series
    series_part: part of the series
    description: summary
    """

    title: str
    author: str
    narrator: str
    album: str
    genre: str
    date: str
    publisher: str
    copyright: str
    isbn: str
    language: str
    series: str
    series_part: str
    description: str


class DestinationFields(TypedDict, total=False):
    """Where the finished files lie in the bucket of the service, for those who may read it: under
    `delivered/TENANT/PREFIX/JOB/`, in a folder of each assembly's own; `key` of an artifact says it all. They are
    downloaded, counted, kept and deleted as ever. `prefix`: folders of lower-case letters, digits, `_`, `-` and `.`,
    that need not exist and that other jobs may name too. A job stays with its destination.

    prefix: folders in the service's bucket, such as `books/42`
    """

    prefix: Required[str]


class OutputFields(TypedDict, total=False):
    """The delivered files.

    preset: a publisher's values for the absent fields below
    formats: each type once whole and once in chapters
    sample_rate: in Hz; absent: the model's
    speed: speed factor at constant pitch, pauses included
    loudness: absent: unchanged
    head_s: seconds before the first word of each file
    tail_s: seconds after the last word of each file; 0: the usual pause
    room_tone_db: background noise level (RMS, dBFS); absent: digital silence
    chapters: chapter marks from the document
    timestamps: level of detail of timestamps.json
    karaoke: word times in `vtt` subtitles
    cover: an upload with a JPEG or PNG, at most 8 MiB and 10,000 pixels a side; absent: the document's
    destination: absent: the job's folder
    """

    preset: Literal["acx", "podcast", "audiobook", "broadcast"]
    formats: Sequence[FormatFields]
    sample_rate: int
    speed: float
    loudness: LoudnessFields
    head_s: float
    tail_s: float
    room_tone_db: float
    chapters: Literal["auto", "off"]
    timestamps: Literal["segment", "sentence", "word", "character", "off"]
    subtitles: Sequence[Literal["srt", "vtt"]]
    karaoke: bool
    tags: TagsFields
    cover: str
    destination: DestinationFields


class JobWebhookFields(TypedDict, total=False):
    """A receiver for this job, beside the endpoints. `url` is signed with the secret of `/v1/webhook-secret`."""

    url: str
    endpoint_id: str
    events: Sequence[str]


class JobOptions(TypedDict, total=False):
    """Everything of a job but its input; what is left out, or None, is the server's default. Times need a zone.

    model: a model of the server; absent: its only one
    voice: a voice of the model, or your own by name or id; absent: the model's first
    ref_text: the words of the voice's recording, or of `ref_audio`
    x_vector_only: with your voice or `ref_audio`: use its embedding only
    if_cache_missing: if your voice is not ready: build it, wait, or reject the job
    speaker_embedding: in place of `voice`: its numbers, or their bytes, as little-endian float32 or as
        `voices.embedding` returned them
    ref_audio: instead of `voice`: a recording, as an upload's id, a data URL or an https address
    consent: with `ref_audio` or `speaker_embedding`: a statement that the speaker agrees
    language: a language of the model, or `auto`
    instructions: how to speak, in your words; for a voice design model: who speaks
    speakers: a cast: name to voice, for lines `NAME: text`, segments and <voice> of SSML
    normalization: `basic`: numbers and units as words; absent: for named English, else by `text_front_end`
    pronunciation_dictionaries: `pd_…@3`, or `pd_…` for the newest version
    seed: the same text and seed give the same speech; absent: random, shown in the job
    reproducibility: `strict`: equal requests give equal speech in any batch
    reuse: `false`: generate segments again that your earlier jobs have
    emoji: `named` speaks emoji names, in English with `normalization: basic`
    priority: high goes first
    not_before: start after this time, at most 90 days ahead
    deadline: a running job fails then; a waiting job expires
    retention_s: seconds to keep the result after the end
    """

    model: str | None
    voice: str | None
    ref_text: str | None
    x_vector_only: bool | None
    if_cache_missing: Literal["compute", "wait", "fail"] | None
    speaker_embedding: bytes | Sequence[float] | None
    ref_audio: str | None
    consent: str | None
    language: str | None
    instructions: str | None
    speakers: Mapping[str, str] | None
    segmentation: SegmentationFields | None
    normalization: Literal["off", "basic"] | None
    pronunciation_dictionaries: Sequence[str] | None
    seed: int | None
    reproducibility: Literal["best_effort", "strict"] | None
    pauses: PausesFields | None
    sampling: SamplingFields | None
    reuse: bool | None
    emoji: Literal["dropped", "named"] | None
    quality: QualityFields | None
    output: OutputFields | None
    priority: Literal["high", "normal", "low"] | None
    not_before: datetime | None
    deadline: datetime | None
    retention_s: int | None
    metadata: Mapping[str, str] | None
    webhook: JobWebhookFields | None


class RetryOptions(TypedDict, total=False):
    """What is spoken from now on is spoken and checked like this; a field that is absent stays as the job has it.

    quality: absent: as the job has it
    sampling: absent: as the job has it
    seed: of the job; absent: as the job has it
    """

    quality: QualityFields
    sampling: SamplingFields
    seed: int


class JobChanges(TypedDict, total=False):
    """A field that is absent stays as it is. `deadline`: null removes it. `metadata` replaces all there is.

    `not_before`: of a job whose time has not come; null lets it start at once.
    """

    priority: Literal["high", "normal", "low"] | None
    not_before: datetime | None
    deadline: datetime | None
    metadata: Mapping[str, str] | None
    retention_s: int | None


class SegmentChanges(TypedDict, total=False):
    """What is said of one segment from now on; what is absent stays. The segment is spoken anew if anything changes.

    text: what it says from now on
    voice: a voice of the model, or one of yours by name or id
    speaker: a name of the job's cast; "" is the job's own voice
    language: a language of the model, or `auto`
    instructions: how to speak, in your words; for a voice design model: who speaks
    seed: of the first attempt, exactly as it is
    """

    text: str
    voice: str
    speaker: str
    language: str
    instructions: str
    seed: int


class StreamOptions(TypedDict, total=False):
    """How a text is spoken while somebody listens; what is left out, or None, is the server's choice.

    reproducibility: `strict`: equal requests give equal speech in any batch
    do_sample: `false` is greedy, as `temperature` 0
    temperature: 0 is greedy
    top_p: nucleus sampling
    top_k: number of candidates
    repetition_penalty: penalty on earlier codes
    subtalker_temperature: `temperature` of the other codebooks
    subtalker_top_p: `top_p` of the other codebooks
    subtalker_top_k: `top_k` of the other codebooks
    max_new_tokens: maximum frames of 80 ms in a segment; absent: from its text
    model: a model of the server, or a name that stands for one; absent: as the task wants it
    voice: a voice of the model, one of yours by name or id, or a name that stands for one; absent: the model's
        first; may be `design` or `auto` where the model makes it or the request brings it
    task_type: what the model has to be made for
    ref_audio: instead of `voice`: a recording, as an upload's id, a data URL or an https address
    ref_text: what `ref_audio`, or a voice of yours, says
    x_vector_only_mode: speak from the embedding of `ref_audio`, or of a voice of yours, alone
    speaker_embedding: in place of `voice`: its numbers, or their bytes, as little-endian float32 or as
        `voices.embedding` returned them
    consent: with `ref_audio` or `speaker_embedding`: a statement that the speaker agrees
    language: a language of the model, by name or tag; absent: `auto`
    instructions: how to speak, in your words; for a voice design model: who speaks
    input_format: `auto`: Markdown is read as such where it is certain
    speed: speed factor at constant pitch; spoken from 0.5 to 2
    non_streaming_mode: of a stream: `true` has the model read each segment whole before it speaks; `false`: as it
        speaks. Absent: whole, as all speech, but on a socket, where text is still being written
    seed: the same text and seed give the same speech; absent: at random
    """

    reproducibility: Literal["best_effort", "strict"] | None
    do_sample: bool | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    repetition_penalty: float | None
    subtalker_temperature: float | None
    subtalker_top_p: float | None
    subtalker_top_k: int | None
    max_new_tokens: int | None
    model: str | None
    voice: str | None
    task_type: Literal["CustomVoice", "VoiceDesign", "Base"] | None
    ref_audio: str | None
    ref_text: str | None
    x_vector_only_mode: bool | None
    speaker_embedding: bytes | Sequence[float] | None
    consent: str | None
    language: str | None
    instructions: str | None
    input_format: Literal["auto", "markdown", "plain"] | None
    speed: float | None
    non_streaming_mode: bool | None
    seed: int | None


class QuotaLimits(TypedDict, total=False):
    """A tenant's own limits; what is left out, or null, is as for all tenants.

    `jobs` and `audio_s` are of unfinished jobs.
    """

    jobs: int | None
    audio_s: int | None
    voices: int | None


class RuleFields(TypedDict, total=False):
    """`grapheme` is spoken as `alias` wherever it stands as a whole word or as several."""

    grapheme: Required[str]
    alias: Required[str]
    case_sensitive: bool
