"""From samples to audio files: levels, limits, encoders, files of chapters."""
