"""Pages for people: what is in a data set, drawn, counted and charted in one file."""
