"""The challenges: one folder each."""
