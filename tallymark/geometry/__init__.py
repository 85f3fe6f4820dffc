"""Geometries: columns of shapes in pixels, metres or seconds, and how much two shapes overlap."""

from __future__ import annotations

from tallymark.geometry.base import Geometry, ImageGeometry, Spatial
from tallymark.geometry.boxes import Boxes
from tallymark.geometry.clusters import Clusters
from tallymark.geometry.cuboids import Cuboids
from tallymark.geometry.events import Events
from tallymark.geometry.labels import Labels
from tallymark.geometry.masks import Masks
from tallymark.geometry.pairs import Pairs
from tallymark.geometry.rotated_boxes import RotatedBoxes

__all__ = [
    "Boxes",
    "Clusters",
    "Cuboids",
    "Events",
    "Geometry",
    "ImageGeometry",
    "Labels",
    "Masks",
    "Pairs",
    "RotatedBoxes",
    "Spatial",
]
