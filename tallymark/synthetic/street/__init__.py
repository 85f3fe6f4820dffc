"""Streets: what stands and moves there, and how lidar and cameras see it."""
