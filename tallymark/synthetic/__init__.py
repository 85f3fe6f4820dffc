"""Scenes in the official formats, for demos, tests and trying things: made from a seed, the same bytes every time."""
