"""From a script to what is spoken: replacements, sentences, cuts. Pure."""
