"""When each word of a text is heard in its speech.

`WordAligner.align` takes samples and the words that were said, `written_times` carries the times over to the words that
stand in the text. English is aligned by two small networks that come with the package (`weights/`); where they cannot
follow, and for other languages, times are estimated, and the answer says so.

A talker's attention is not asked: published checkpoints have no head that is known to follow the text, a codec frame is
80 ms long where these networks hear every 10 ms, and what was spoken earlier would have to pass the model once more.
"""
