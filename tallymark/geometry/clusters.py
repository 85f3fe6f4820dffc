"""Clusters of overlapping detections, whose shapes weighted boxes fusion averages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Clusters:
    """n detections in k clusters.

    cluster: (n,) the cluster of each detection.
    leader: (k,) the detection with the highest score of each cluster.
    share: (n,) the weight of each detection in the mean of its cluster; those of a cluster sum to 1.
    """

    cluster: np.ndarray
    leader: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, cluster: np.ndarray, leader: np.ndarray, score: np.ndarray) -> Clusters:
        """With shares proportional to the scores; equal shares where all scores of a cluster are 0."""
        weight = np.maximum(score, 0)
        weight = np.where(np.bincount(cluster, weight)[cluster] > 0, weight, 1) if len(cluster) else weight
        return cls(cluster, leader, weight / np.bincount(cluster, weight)[cluster] if len(cluster) else weight)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """The weighted mean of each cluster."""
        return np.bincount(self.cluster, values * self.share, minlength=len(self.leader))

    def difference_from_leader(self, values: np.ndarray) -> np.ndarray:
        """Each detection's value minus that of its leader."""
        return values - values[self.leader[self.cluster]]
