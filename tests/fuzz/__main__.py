"""`python -m tests.fuzz --minutes 10`: run all fuzzers, print the figures, and exit with 1 if anything was found.

`python -m tests.fuzz FAMILY --case SEED` runs one case again and shows what it prints.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.fuzz.case import run_case
from tests.fuzz.families import FAMILIES
from tests.fuzz.runner import fuzz, make_bases, save, seeded, table


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of {', '.join(FAMILIES)}; default: all")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", type=int, help="run only this case of one family")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"), help="folder for cases with a finding")
    options = parser.parse_args()
    families = {name: FAMILIES[name] for name in options.families or FAMILIES}
    if options.case is not None:
        [(name, family)] = families.items()
        with tempfile.TemporaryDirectory() as root:
            make_bases(families, Path(root, "base"))
            Path(root, "case").mkdir()
            outcome = run_case(family, seeded(name, options.case), Path(root, "base", name), Path(root, "case"))
            if outcome.finding:
                save(outcome, name, options.case, Path(root, "case"), options.keep)
        print(outcome.verdict, outcome.finding, outcome.about, outcome.commands, outcome.text, sep="\n")
        sys.exit(bool(outcome.finding))
    figures = fuzz(families, minutes=options.minutes, seed=options.seed, workers=options.workers, keep=options.keep)
    print(table(figures))
    sys.exit(any(own.findings for own in figures.values()))


if __name__ == "__main__":
    main()
