"""Engines: the same work on many shards, by processes of this machine or of a Ray cluster."""
