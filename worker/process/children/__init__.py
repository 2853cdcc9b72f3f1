"""A worker's own child processes: the channel to them, what they do first, and when they are started again."""
