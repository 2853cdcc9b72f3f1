"""The time of each word of a text in its speech.

`WordAligner.align` takes samples and the words that were said, `written_times` carries the times over to the words that
stand in the text. English is aligned by two small networks that come with the package (`weights/`); where they cannot
follow, and for other languages, times are estimated, and the answer says so.

The talker's attention is not used. Published checkpoints have no head that is known to follow the text. A codec frame
is 80 ms long, while these networks have a frame of 10 ms. Earlier speech would have to pass the model once more.
"""
