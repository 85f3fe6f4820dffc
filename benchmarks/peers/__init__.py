"""How people score today, and the floor: what reading and bare arithmetic cost.

Every function takes the paths of truth and submission and returns the score, so that the benchmark can see that
all of them compute the same number. A floor returns nan: it reads without a check and compares every prediction with
just one truth, so nothing that scores can be faster.
"""
