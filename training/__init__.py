"""The recipe of the small voice: text, synthetic speech, codes, decoder, talker, checkpoint. See README.md."""
