"""The aligner that tells when each word of English sounds, see `worker/speech/alignment`."""
