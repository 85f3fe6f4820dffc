"""The grid of centres: shapes become heat and numbers on a regular grid, and are read off it again."""
