"""How texts are read: from a script to what is spoken, in segments. Pure; here because the door plans short texts."""
