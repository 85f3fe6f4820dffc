"""The pretrained models: which challenges have one, what their cards say of them, and why others have none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from tallymark.core.card import ModelCard, why_no_model
from tallymark.core.problems import BadInput, Problem, Problems
from tallymark.core.registry import Challenge, all_challenges
from tallymark.inference.run import MODEL


@dataclass(frozen=True)
class PretrainedModel:
    """The model file in the folder of a challenge.

    challenge: its name, by which commands take the model. bytes: of the file. card: what is known of the model.
    """

    challenge: str
    title: str
    path: Path
    bytes: int
    card: ModelCard

    @property
    def command(self) -> str:
        """How it is used."""
        return f"tallymark predict {self.challenge} FOLDER"

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        own = {"challenge": self.challenge, "title": self.title, "path": str(self.path), "bytes": self.bytes}
        return {**own, **asdict(self.card), "command": self.command}


@dataclass(frozen=True)
class MissingModel:
    """A challenge without a pretrained model. reason: why, if its card says so."""

    challenge: str
    title: str
    reason: str

    @property
    def text(self) -> str:
        """As a problem says it."""
        return f"no pretrained model. {self.reason}" if self.reason else "no pretrained model"

    @property
    def command(self) -> str:
        """How a model is made."""
        return f"tallymark train {self.challenge} FOLDER --out RUN"

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**asdict(self), "command": self.command}


@dataclass(frozen=True)
class ModelList:
    """pretrained: every model. missing: the challenges that have none. problems: of packages that provide others."""

    pretrained: tuple[PretrainedModel, ...]
    missing: tuple[MissingModel, ...]
    problems: Problems

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        listed = {
            "models": [one.as_dict() for one in self.pretrained],
            "without_model": [one.as_dict() for one in self.missing],
        }
        return {**listed, **self.problems.as_dict()}


def models() -> ModelList:
    """List the pretrained models of all challenges, with what their cards say of data, score and licence."""
    challenges, problems = all_challenges()
    found = [(what, _model_of(what)) for what in challenges]
    pretrained = tuple(model for _, model in found if model is not None)
    missing = tuple(_missing(what) for what, model in found if model is None)
    return ModelList(pretrained, missing, problems)


def find_pretrained(what: Challenge, remedy: str = "") -> Path:
    """The pretrained model of a challenge; a `BadInput` that says why it has none and what to do.

    remedy: what to do, if it is not to train a model.
    """
    found = _model_of(what)
    if found is not None:
        return found.path
    missing = _missing(what)
    others = ", ".join(one.challenge for one in models().pretrained)
    expected = "a run, or a challenge with a pretrained model" + (f": {others}" if others else "")
    remedy = remedy or f"train one: {missing.command}, then: tallymark predict RUN FOLDER"
    raise BadInput(Problem("no_model", what.name, missing.text, expected, remedy))


def pretrained_note(path: Path) -> str:
    """What a pretrained model has learned from, by the card beside its file; empty for other models."""
    data = ModelCard.read(path.parent).data
    return f"pretrained model, trained on {data}; its scores: tallymark models" if data else ""


def _model_of(what: Challenge) -> PretrainedModel | None:
    path = what.folder / MODEL
    if not path.exists():
        return None
    return PretrainedModel(what.name, what.title, path, path.stat().st_size, ModelCard.read(what.folder))


def _missing(what: Challenge) -> MissingModel:
    return MissingModel(what.name, what.title, why_no_model(what.folder))
