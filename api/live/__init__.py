"""Speech that is heard while it is made: from this process to an engine with room, and to another when that is lost."""
