"""DOCX: word processors' files, a ZIP of XML, read with the bounds and the parser that books are read with."""
