"""Tests. A package, because the standard library has one of the same name that would be found instead."""
