"""The assemble item: finished segments become audio files, subtitles, timestamps, codec frames and a manifest.

Every segment is read once in order, and twice if loudness is to be measured first. Only one is in memory. A separate
thread encodes and uploads each format, at the pace of the slowest.
"""
