"""Synthetic data sets in the official formats, for demos and tests. The same seed gives the same bytes."""
