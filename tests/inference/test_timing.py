"""Settings to measure: those that a medium can have, each once."""

from __future__ import annotations

import pytest

from tallymark.api.models import find_preset
from tallymark.inference.timing import Setting, Timing, noise, settings_of


def names(challenge: str, **fixed: object) -> list[str]:
    return [one.name for one in settings_of(find_preset(challenge, "tiny"), ["onnxruntime"], fixed)]


def test_images_have_transforms_and_resolutions() -> None:
    assert names("wheat") == [
        "tta=1 tta_scales=1 resolution=1",
        *(f"tta={tta} tta_scales=1 resolution=1" for tta in (2, 4, 8)),
        *(f"tta=1 tta_scales={scales} resolution=1" for scales in (2, 3)),
        *(f"tta=1 tta_scales=1 resolution={share}" for share in (0.875, 0.75, 0.625, 0.5)),
    ]


def test_fields_that_are_given_are_not_varied() -> None:
    varied = [f"tta={tta} tta_scales=1" for tta in (1, 2, 4, 8)] + ["tta=1 tta_scales=2", "tta=1 tta_scales=3"]
    assert names("wheat", resolution="0.75") == [f"{one} resolution=0.75" for one in varied]
    assert names("wheat", tta=4, tta_scales=2)[1] == "tta=4 tta_scales=2 resolution=0.875"


@pytest.mark.parametrize(("challenge", "expected"), [("upcalls", [1]), ("lyft", [1, 2, 4, 8])])
def test_other_media_have_what_they_allow(challenge: str, expected: list[int]) -> None:
    assert names(challenge) == [f"tta={tta}" for tta in expected]


def test_settings_of_several_runtimes_stand_beside_each_other() -> None:
    made = settings_of(find_preset("upcalls", "tiny"), ["onnxruntime", "openvino"], {})
    assert [(one.runtime, one.name) for one in made] == [("onnxruntime", "tta=1"), ("openvino", "tta=1")]


def test_noise_is_how_much_the_same_work_differs() -> None:
    timing = Timing(Setting("onnxruntime", {}), find_preset("wheat", "tiny"), [1.0, 2.0, 4.0], again=[1.0, 1.5, 5.0])
    assert noise(timing) == pytest.approx(0.2)
