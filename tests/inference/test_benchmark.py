"""Benchmarks: the Pareto front, and the settings that named speeds get."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import pytest

from tallymark.inference.benchmark import Benchmark, Measurement


def benchmark(
    rows: list[tuple[float, float]], better: Literal["higher", "lower"] = "higher", baseline: float = 0.0
) -> Benchmark:
    """One measurement for each pair of milliseconds and score; its TTA is the number of the pair, from 1 on."""
    measurements = [
        Measurement("onnxruntime", {"tta": at + 1}, ms / 1000, ms / 2000, score, score, threshold=0.1 * (at + 1))
        for at, (ms, score) in enumerate(rows)
    ]
    stages = {"onnxruntime": {"open": 0.001, "infer": 0.003}}
    return Benchmark(
        "wheat", "run", "image", 8, 8, 2, None, measurements, stages, 0.05, better=better, baseline=baseline
    )


def front(made: Benchmark) -> list[int]:
    return [one.fields["tta"] for one in made.front]


def test_no_setting_on_the_front_is_beaten_in_both() -> None:
    assert front(benchmark([(40, 0.50), (10, 0.30), (20, 0.29), (80, 0.55), (60, 0.50)])) == [2, 1, 4]


def test_the_front_of_errors_goes_down() -> None:
    assert front(benchmark([(40, 0.50), (10, 0.30), (20, 0.29)], "lower", 1.0)) == [2, 3]


def test_without_truth_there_is_no_front() -> None:
    made = benchmark([(40, math.nan), (10, math.nan)])
    assert made.front == []
    assert made.speeds == {}


def test_speeds_lose_little_of_what_is_gained_over_the_baseline() -> None:
    made = benchmark([(10, 0.66), (20, 0.675), (40, 0.699), (80, 0.7)], baseline=0.6)
    assert {name: fields["tta"] for name, fields in made.speeds.items()} == {"best": 4, "balanced": 3, "fast": 3}
    made = benchmark([(10, 0.66), (20, 0.675), (40, 0.699), (80, 0.7)])
    assert {name: fields["tta"] for name, fields in made.speeds.items()} == {"best": 3, "balanced": 3, "fast": 1}
    assert made.speeds["fast"]["score_threshold"] == pytest.approx(0.1)


def test_numbers_of_a_speed_prize() -> None:
    [one] = benchmark([(30, 0.5)]).measurements
    assert one.per_second == pytest.approx(33.3, abs=0.1)
    assert one.prize_minutes == pytest.approx(20)


def test_recordings_are_measured_in_hours() -> None:
    one = Measurement("openvino", {"tta": 1}, 0.5, 0.1, hours=0.25)
    assert one.per_second == pytest.approx(0.5)


def test_a_benchmark_prints_tables() -> None:
    text = str(benchmark([(40, 0.5), (10, 0.3)]))
    for expected in ("images per second", "min for 40,000", "re-tuned", "infer, share", "5.0%", "75%"):
        assert expected in text


def test_without_truth_no_score_is_printed() -> None:
    assert "score" not in str(replace(benchmark([(40, math.nan)]), scored=0))
