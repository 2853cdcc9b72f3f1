"""Times in the audio: subtitles, timestamps, the times of words."""
