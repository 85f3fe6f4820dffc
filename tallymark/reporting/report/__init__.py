"""The report of predictions: one page with the score, its causes, a live threshold, and pictures to look through."""
