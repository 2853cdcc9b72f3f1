"""The time of each word of a text in its speech (`aligner`), and how well the speech of a short one fits it (`fit`).

The talker's attention is not used: no head of published checkpoints is known to follow the text, in frames of 80 ms.
"""
