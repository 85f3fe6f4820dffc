"""Synthetic satellite chips of the sea, with ships, coasts, harbours and clouds."""
