"""Synthetic photographs of dishes, in families of similar classes."""
