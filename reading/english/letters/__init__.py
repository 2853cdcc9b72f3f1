"""What is short for words, and signs among them: abbreviations, acronyms, addresses, marks."""
