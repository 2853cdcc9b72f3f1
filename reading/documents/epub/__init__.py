"""EPUB 2 and 3: an archive, a package that names its pages in order, and a table of contents."""
