"""Runtimes: what runs a model file, each behind the same interface, and which of them is used."""
