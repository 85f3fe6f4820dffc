"""Options of `score` for precision and recall by class and by distance from the vehicle."""

from __future__ import annotations

from pathlib import Path

from tallymark.core.problems import BadInput, Problem
from tallymark.core.registry import Analysis, ScoreOption, Scoring
from tallymark.data.annotations import Annotations
from tallymark.geometry import Cuboids

SCORE_OPTIONS = (
    ScoreOption("by_distance", Path, "Data folder, for precision and recall by distance from the vehicle."),
    ScoreOption("min_points", int, "With --by-distance: 3D boxes with fewer lidar points inside do not count."),
)


def analyze(truth: Annotations[Cuboids], predicted: Annotations[Cuboids], scoring: Scoring) -> dict[str, Analysis]:
    """Tables by class and distance, if a data folder is given."""
    min_points = int(scoring.given.get("min_points", 0))
    if "by_distance" not in scoring.given:
        if min_points:
            raise BadInput(Problem("bad_option", "score", "min_points", "by_distance too", "add --by-distance FOLDER"))
        return {}
    from tallymark.challenges.lyft.read import read
    from tallymark.reporting.distances import score_by_distance

    catalog = read(Path(scoring.given["by_distance"]), scoring.rule_options, scoring.problems)
    distances = score_by_distance(
        truth,
        predicted,
        scoring.problems.checked(catalog),
        min_points=min_points,
        comparison=scoring.rule_options.iou_comparison,
        match=scoring.rule_options.match,
    )
    return {"distances": distances}
