"""How people score today, and the floor: what reading and bare arithmetic cost.

Every function takes the paths of truth and submission and returns the score, so that the benchmark can see that
all of them compute the same number; nan where they compute another one. The floor reads with polars without a check
and does the bare arithmetic: one comparison for every prediction, without the search for its partner.
"""
