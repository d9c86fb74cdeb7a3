"""What can go wrong with real members, as one family: an actor that drives them tries again, a test fails with it."""

from __future__ import annotations


class EtcdError(Exception):
    """Members or their processes did not do what was wanted; the message says what they said last."""
