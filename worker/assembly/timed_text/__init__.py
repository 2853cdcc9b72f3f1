"""What is heard when: subtitles, timestamps, the times of words."""
