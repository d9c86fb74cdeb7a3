"""What comes from outside, byte by byte: no crash, no hang, bounded memory. `bounds` has how much of it."""
