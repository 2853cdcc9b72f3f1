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
    """One entry of a list: what is absent is as the job has it.

    voice: one of the model's, or one of yours by name or id
    speaker: a name of `speakers`; not beside `voice`
    instructions: how it is spoken, or with a model that designs voices who speaks, in your words
    speed: how much faster than it is spoken, beside `output.speed`
    gain_db: how much louder than it is spoken, in dB, in the finished files
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
    """A file of `/v1/uploads`. `include`: ids of chapters as a plan shows them; absent: all.

    `images`: `alt` says what the alternative text of a picture says. Notes and their marks are not spoken.
    """

    upload_id: Required[str]
    format: Required[DocumentFormat]
    include: Sequence[str]
    images: Literal["skip", "alt"]


class JobInputFields(TypedDict, total=False):
    """Exactly one of the four.

    ssml: an SSML document; `/v1/capabilities` lists the elements that are understood
    """

    text: str
    ssml: str
    ssml_mode: Literal["strict", "lenient"]
    segments: Sequence[SegmentEntryFields]
    document: DocumentFields


class SegmentationFields(TypedDict, total=False):
    """How the text is cut, in characters; `max_chars` bounds what `target_chars` aims at. Unless `target_chars` is
    named, the first segment of a text or document is about 90 characters long, so that listening begins at once.

    mode: `sentence` speaks each sentence by itself, `packed` those of a paragraph together, towards `target_chars`;
    absent: `packed` where `target_chars` is named, else as the model's `segmentation` wants it. min_chars: a line,
    sentence or paragraph below it is spoken with a neighbour of the same voice, whose pause it takes over; 0 leaves
    each alone. What is above the model's `max_text_chars` is lowered to it, with the warning `segments_shortened`
    where it was asked for.
    """

    mode: Literal["sentence", "packed"]
    target_chars: int
    max_chars: int
    min_chars: int


class PausesFields(TypedDict, total=False):
    """Silence that is heard after what ends there, in seconds; of several, the longest.

    sentence_s: silence after a sentence that is a segment's last, in seconds
    paragraph_s: silence after a paragraph
    heading_s: silence after a heading
    chapter_s: the least silence before a chapter
    line_s: silence after a line of verse, `<br>` or a hard break
    cut_s: silence where a sentence goes on that is too long, or that another voice goes on with
    inside: between sentences that are spoken in one piece (`segmentation: packed`): `asked` makes them `sentence_s`
        long, in English, where a silence is found at the end of a sentence
    """

    sentence_s: float
    paragraph_s: float
    heading_s: float
    chapter_s: float
    line_s: float
    cut_s: float
    inside: Literal["spoken", "asked"]


class SamplingFields(TypedDict, total=False):
    """How speech is drawn. What is absent stays as the checkpoint has it.

    The fields of `subtalker` are of the codes that refine each frame, the others of the code that leads it.

    do_sample: `false` takes the likeliest everywhere, as `temperature` 0 does; `true` draws
    temperature: how freely it is drawn; 0 always takes the likeliest
    top_p: draw among the likeliest of this share
    top_k: draw among so many
    repetition_penalty: how much less likely what was drawn before becomes
    subtalker_temperature: `temperature` of the codes that refine a frame
    subtalker_top_p: `top_p` of the codes that refine a frame
    subtalker_top_k: `top_k` of the codes that refine a frame
    max_new_tokens: no more frames of 80 ms for one segment: speech is cut there; absent: as its text suggests
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
    """Every segment is checked before it counts as done, and spoken again otherwise if it does not pass: with another
    seed, at a temperature where the checkpoint decodes greedily, at last in two halves.

    gate: `basic` hears silence, loops, cuts, wrong lengths and levels; `asr` also reads the speech back and needs a
        recogniser for the language (see `/v1/models`); `off` checks nothing
    max_attempts: times a segment is spoken at most
    on_exhausted: of a segment that never passes: `keep_best`: the least bad attempt is kept, flagged and warned of,
        and the job fails where nothing can be heard in any; `keep_best_or_gap`: there, a gap of silence is left and
        listed; `silence`: a gap, whatever was found; `fail`: the job fails, whatever was found
    """

    gate: Literal["off", "basic", "asr"]
    max_attempts: int
    on_exhausted: OnExhausted


class FormatFields(TypedDict, total=False):
    """One file, as players know it, or one for each chapter of the document.

    files: `chapters`: a file for each chapter, numbered and named by its title; of a text without any, one
    bitrate_kbps: of mp3, opus, m4b and aac; absent: 96, of opus 48, or the most that the sample rate allows
    """

    type: Required[AudioType]
    files: Literal["whole", "chapters"]
    bitrate_kbps: int


class LoudnessFields(TypedDict, total=False):
    """One gain brings the integrated loudness (EBU R128) of the job, or of each chapter, to `target_lufs`.

    Where the true peak would pass `max_true_peak_db`, a limiter takes off what is too much, and the gain makes up
    for it. If that took more than 6 dB off for more than 1 % of the time, the gain is smaller, and a warning says
    so.

    target_lufs: bring the whole to this loudness (EBU R128)
    """

    target_lufs: float
    max_true_peak_db: float
    scope: Literal["job", "chapter"]


class TagsFields(TypedDict, total=False):
    """What the files say of themselves; absent: what the document says, else nothing. WAV has none.

    title: what the book is called
    author: who wrote it
    narrator: who reads it
    album: what the files belong to; absent: the title
    genre: a word, such as Fiction
    date: a year or a day
    publisher: who publishes it
    copyright: who has which rights
    isbn: the book's number, of 10 or 13 digits
    language: what is spoken, such as en-GB; absent: the document's, or the job's
    series: what the book is a part of
    series_part: which part of the series it is
    description: what it is about
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

    prefix: keep the files under these folders of the service's bucket, such as `books/42`
    """

    prefix: Required[str]


class OutputFields(TypedDict, total=False):
    """What the audio is delivered as. All formats are made in one pass over the same samples.

    preset: whose demands the files meet: stands for values of the fields below, where these are left out
    formats: each type once as a whole and once in chapters
    sample_rate: resample, in Hz; absent: the model's own
    speed: how much faster than it is spoken, at the same pitch; pauses are shorter in the same proportion
    loudness: absent: as the model speaks
    head_s: seconds before the first word of the whole, and of each chapter where these are files; 0: none
    tail_s: seconds behind the last word, likewise, in place of the pause there; 0: that pause
    room_tone_db: a very quiet noise under everything, of this level (RMS, dB of full scale), so that no pause is
        digital silence; absent: none
    chapters: `auto`: marks in every format that has them, from the document's chapters
    timestamps: timestamps.json says when what is heard, down to this level
    karaoke: subtitles of type `vtt` say when each word is heard
    cover: an upload, upl_..., with a JPEG or PNG of up to 8 MiB and 10,000 pixels a side, in place of the document's
        own
    destination: absent: among the job's other objects
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
    """Who is told of this job, beside the endpoints that want such events anyway.

    `url`: signed with the secret at `/v1/webhook-secret`. `endpoint_id`: `events` count in place of what it chose.
    """

    url: str
    endpoint_id: str
    events: Sequence[str]


class JobOptions(TypedDict, total=False):
    """Everything of a job but its input; what is left out, or None, is the server's default. Times need a zone.

    model: a model of the server; absent: its only one
    voice: a voice of the model, or one of yours by name or id; absent: the model's first
    ref_text: with a voice of yours: what its recording says, in place of what is known of it; with `ref_audio`: what
        that says
    x_vector_only: with a voice of yours or `ref_audio`: speak from its embedding alone
    if_cache_missing: with a voice of yours that is not ready: build it on the way, wait for it, or refuse the job
    speaker_embedding: in place of `voice`: its numbers, or their bytes, as little-endian float32 or as
        `voices.embedding` returned them
    ref_audio: in place of `voice`: a recording to speak like, as an upload's id, a data URL or an https address
    consent: with `ref_audio` or `speaker_embedding`: the statement that the speaker agrees
    language: a language of the model, or `auto`, the model's choice
    instructions: how it is spoken, or with a model that designs voices who speaks, in your words
    speakers: a cast: name to voice, for lines `NAME: text`, for segments and for <voice> of SSML
    normalization: `basic`: numbers, dates, money and units as words, in English all that is not read as it is
        written; the plan shows them; absent: as the model's `text_front_end` wants it
    pronunciation_dictionaries: how words are respelt: `pd_…@3`, or `pd_…` for its newest version now
    seed: the same text and seed give the same speech; absent: drawn at random and told in the job
    reproducibility: `strict`: equal requests give equal speech, whatever else the workers speak at the time
    reuse: `false`: every segment is spoken, also one that an earlier job of yours has spoken
    emoji: `named`: emoji are said by their names where `normalization` is `basic` and the language English, not
        passed over
    priority: who goes first
    not_before: nothing of the job is done before this time, 90 days away at most
    deadline: a job that is not done by then fails, one that has not started expires
    retention_s: how long the result is kept after the job's end, in seconds
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
    instructions: how it is spoken, or with a model that designs voices who speaks, in your words
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

    reproducibility: `strict`: equal requests give equal speech, whatever else the workers speak at the time
    do_sample: `false` takes the likeliest everywhere, as `temperature` 0 does; `true` draws
    temperature: how freely it is drawn; 0 always takes the likeliest
    top_p: draw among the likeliest of this share
    top_k: draw among so many
    repetition_penalty: how much less likely what was drawn before becomes
    subtalker_temperature: `temperature` of the codes that refine a frame
    subtalker_top_p: `top_p` of the codes that refine a frame
    subtalker_top_k: `top_k` of the codes that refine a frame
    max_new_tokens: no more frames of 80 ms for one segment: speech is cut there; absent: as its text suggests
    model: a model of the server, or a name that stands for one; absent: as the task wants it
    voice: a voice of the model, one of yours by name or id, or a name that stands for one; absent: the model's
        first; may be `design` or `auto` where the model makes it or the request brings it
    task_type: what the model has to be made for
    ref_audio: in place of `voice`: a recording to speak like, as an upload's id, a data URL or an https address
    ref_text: what `ref_audio`, or a voice of yours, says
    x_vector_only_mode: speak from the embedding of `ref_audio`, or of a voice of yours, alone
    speaker_embedding: in place of `voice`: its numbers, or their bytes, as little-endian float32 or as
        `voices.embedding` returned them
    consent: with `ref_audio` or `speaker_embedding`: the statement that the speaker agrees
    language: a language of the model, by name or tag; absent: `auto`
    instructions: how it is spoken, or with a model that designs voices who speaks, in your words
    speed: how much faster than it is spoken, at the same pitch; pauses are shorter in the same proportion
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
