"""The assemble item: finished segments become audio files, subtitles, timestamps, codec frames and a manifest.

Every segment is read once in order (twice if loudness is to be measured first) and is the only one in memory; each
format is encoded and uploaded by a thread of its own, at the pace of the slowest.
"""
