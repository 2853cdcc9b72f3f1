"""A text divided: sentences, clauses, segments of a few seconds."""
