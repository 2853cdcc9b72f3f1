"""Text files: what frames a book, what litters it, and where its chapters begin. The rule: right, or untouched."""
