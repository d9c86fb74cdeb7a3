"""What everybody may import: the vocabulary, the API types and the CRD made from them. No I/O."""
