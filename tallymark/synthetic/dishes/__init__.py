"""Dishes on plates: photographs of look-alike classes."""
