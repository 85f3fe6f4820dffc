"""Settings of all tests."""

import os

from hypothesis import settings

from tests.sets import sets

__all__ = ["sets"]

# No deadline: shared machines have slow moments. In CI always the same examples, so that a red run is about the change.
settings.register_profile("steady", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("steady")
