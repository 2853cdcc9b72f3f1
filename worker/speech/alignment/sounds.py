"""The sounds of English that the aligner knows, by the names of the CMU dictionary; the first is silence."""

SILENCE = "pau"

SOUNDS = (
    SILENCE,
    *("aa", "ae", "ah", "ao", "aw", "ay", "eh", "er", "ey", "ih", "iy", "ow", "oy", "uh", "uw"),
    *("b", "ch", "d", "dh", "f", "g", "hh", "jh", "k", "l", "m", "n", "ng", "p", "r", "s", "sh", "t", "th"),
    *("v", "w", "y", "z", "zh"),
)
