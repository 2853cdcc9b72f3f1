"""What is made of strangers' characters before anything of it is spoken: the draft of a plan.

Readers of documents, patterns for sentences and rules for numbers all go over a stranger's text. So the whole
way from the stored input to the segments is gone in a process of its own for each job (`__main__`, started by
`process`): bounded in memory and time, without a way to open a file or a socket. What takes too long there costs the
job that brought it alone.
"""
