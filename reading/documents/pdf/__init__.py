"""PDF: letters at places on pages, put together into lines, columns, paragraphs and headings.

The letters come from PDFium (`library`), which is loaded before the process that reads has given up its doors. A page
says where its letters stand and not what they are, so all else is concluded: what is repeated from page to page is no
text (`furniture`), what is small at a column's foot is a note (`notes`), what is large is a heading (`headings`).
"""
