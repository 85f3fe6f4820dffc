"""Ocean sound: recordings with upcalls and all that is mistaken for them."""
