"""From a trained model to findings: what it sees, put together and written."""
