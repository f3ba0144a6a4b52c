"""``holdfast demo``: the promise shown on a recorded session, in a folder of its own."""
