"""Matching, threshold sweeps, scores and comparison."""
