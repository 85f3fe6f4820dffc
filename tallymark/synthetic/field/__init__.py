"""Wheat fields: photographs of plots with ears, leaves and soil."""
