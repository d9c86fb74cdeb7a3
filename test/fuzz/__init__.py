"""The state-machine proof: arbitrary interleavings against the real decide, act, loop and watches."""
