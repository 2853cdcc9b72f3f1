"""PDF: letters at places on pages, put together into lines, columns, paragraphs and headings.

The letters come from PDFium (`library`), which is loaded before the process that reads has given up its doors. A page
gives only the places of its letters. The rest is inferred: repeated text is no content (`furniture`). Small text at a
column's foot is a note (`notes`), and large text is a heading (`headings`).
"""
