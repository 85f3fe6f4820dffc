"""From model files to predictions: sessions, the inference pipeline, post-processing, tuning and runs."""
