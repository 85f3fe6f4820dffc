"""Collections of problems."""

from __future__ import annotations

import time

from tallymark.core.problems import EVERY, Problem, Problems


def of_files(count: int, keep: int = EVERY) -> Problems:
    problems = Problems(keep)
    for number in range(count):
        problems.add(Problem("corrupt_media", f"{number}.jpg", "no image", "an image"))
    return problems


def test_merged_problems_are_all_there() -> None:
    problems = of_files(3)
    problems.merge(of_files(5))
    assert problems.total == 8
    assert sorted(problem.file for problem in problems) == sorted(f"{k}.jpg" for k in [0, 1, 2, 0, 1, 2, 3, 4])


def test_problems_that_were_only_counted_are_counted_when_merged() -> None:
    several = Problems(keep=2)
    several.add_each("odd", "a.csv", range(5), lambda line: Problem("odd", "a.csv", "1", "2", line=line))
    problems = Problems()
    problems.merge(several)
    assert (problems.total, len(list(problems))) == (5, 2)


def test_problems_of_many_files_are_merged_quickly() -> None:
    """An archive may have tens of thousands of bad files."""
    many = of_files(20_000)
    started = time.process_time()
    Problems(EVERY).merge(many)
    assert time.process_time() - started < 1
