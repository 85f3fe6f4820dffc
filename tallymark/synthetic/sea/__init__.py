"""The sea from above: chips with ships, coasts, harbours and clouds."""
