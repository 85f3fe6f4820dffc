"""The grids of the network: which strides its feature levels have, and which input sizes it takes."""

from __future__ import annotations

PLANE_STRIDES = (4, 8, 16)
"""Pixels per cell of the feature levels that an output grid can have, for images and bird's-eye views."""
TIME_STRIDES = (2, 4, 8, 16)
"""Frames per cell of the feature levels that an output grid can have, for spectrograms."""
BLOCK = 32
"""Sides of what a network is given are multiples of this, the stride of its coarsest features."""
