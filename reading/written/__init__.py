"""A text that is still being written, divided and read as it comes.

    words        characters in any pieces to words
    sentences    where sentences end, which is known a word or two later
    phrases      numbers, signs and words of dictionaries, with the words around them that decide how they are read
    composing    segments within the bounds of a model

Each stage hands on only what nothing that comes can change, so that all follows from the text and not from its pieces.
"""
