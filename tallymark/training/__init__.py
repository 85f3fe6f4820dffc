"""Training: one loop that reads from top to bottom, and what it needs."""
