"""Reading, checking, repairing and writing submissions."""
