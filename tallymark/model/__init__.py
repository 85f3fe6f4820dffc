"""What is learned: backbones, neck, heads and losses, in plain PyTorch."""
