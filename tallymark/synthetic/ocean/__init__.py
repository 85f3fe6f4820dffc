"""Synthetic underwater recordings, with right-whale upcalls and sounds that resemble them."""
