"""How a text is said: dictionaries, figures and signs as words, and where each of these comes from."""
