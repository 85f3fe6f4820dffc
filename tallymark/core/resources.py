"""What the machine has to offer."""

from __future__ import annotations

import os


def free_cores() -> int:
    """Cores that nobody else uses now."""
    return os.cpu_count() or 1
