"""Where the user wants shards to be worked on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tallymark.core.problems import Problem, Problems, nearest

if TYPE_CHECKING:
    from tallymark.core.engines.contract import Engine

EngineName = Literal["local", "ray"]


@dataclass(frozen=True)
class EngineChoice:
    """Where shards of items are worked on.

    name: `local` (processes of this machine) or `ray`. workers: by default, one for each core that is free.
    address: of a Ray cluster; by default one is started on this machine.
    """

    name: EngineName = "local"
    workers: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        problems = Problems()
        names = get_args(EngineName)
        if self.name not in names:
            remedy = nearest(str(self.name), names)
            problems.add(Problem("bad_option", "engine", str(self.name), " or ".join(names), remedy))
        elif self.name != "ray" and self.address is not None:
            found, remedy = f"an address for the engine {self.name}", "choose the engine ray, or leave the address out"
            problems.add(Problem("bad_option", "engine", found, "an address for the engine ray only", remedy))
        if self.workers is not None and self.workers < 1:
            problems.add(Problem("bad_option", "engine", f"{self.workers} workers", "one or more", "give e.g. 2"))
        problems.raise_if_any()

    def make(self, cores: int | None = None, *, at_once: bool = False) -> Engine:
        """The engine. cores: of this machine that it may use; by default those that are free.

        at_once: begin with worker processes, since something in the work may end its process.
        """
        if self.name == "ray":
            from tallymark.core.engines.ray_engine import RayEngine

            return RayEngine(self.workers, self.address)
        from tallymark.core.engines.local import START_AFTER, LocalEngine
        from tallymark.core.resources import free_cores

        at_once = at_once or (self.workers or 1) > 1
        return LocalEngine(self.workers or cores or free_cores(), start_after=0.0 if at_once else START_AFTER)


BY_DEFAULT = EngineChoice()
