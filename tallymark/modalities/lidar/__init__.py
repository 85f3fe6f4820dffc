"""Lidar sweeps."""
