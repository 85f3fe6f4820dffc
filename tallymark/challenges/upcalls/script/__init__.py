"""The script that the organisers ask to score with, as a file of its own: `tallymark export-metrics` writes it."""
