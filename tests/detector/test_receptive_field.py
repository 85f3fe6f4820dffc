"""The receptive field is that of the network itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tallymark.detector.receptive_field import Convolution, audio_receptive_field, receptive_field
from tallymark.modalities.audio.recipe import AudioRecipe
from tallymark.training.network import make_network

FRAMES = 1024


def test_strides_multiply_what_follows() -> None:
    assert receptive_field([Convolution(3)]) == 1
    assert receptive_field([Convolution(5), Convolution(3)]) == 3
    assert receptive_field([Convolution(3, 2), Convolution(3, 2), Convolution(3)]) == 1 + 2 + 4
    assert receptive_field([Convolution(3)], jump=8) == 8
    assert receptive_field([]) == 0


@pytest.mark.parametrize(("depth", "stride"), [(1, 2), (2, 2), (3, 2), (1, 4), (1, 8), (2, 16)])
def test_a_frame_changes_outputs_within_the_receptive_field_only(depth: int, stride: int) -> None:
    recipe = AudioRecipe().replace(width=4, neck=8, depth=depth, stride=stride, n_bins=32)
    network = make_network(recipe, 1).eval().double()
    field = audio_receptive_field(depth, stride)
    silence = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 1, 32, FRAMES)))
    reached = 0
    for frame in range(FRAMES // 2, FRAMES // 2 + 16):  # all positions in a cell of the coarsest level
        loud = silence.clone()
        loud[..., frame] += 9
        with torch.inference_mode():
            one, other = (network(inputs)["heat"][0, 0, 0] for inputs in (silence, loud))
        changed = np.flatnonzero((one != other).numpy())
        reached = max(reached, frame - changed.min() * stride, (changed.max() + 1) * stride - frame)
    assert field - 32 <= reached <= field
