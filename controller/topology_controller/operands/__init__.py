"""The operand matrix: which operand follows which topology, and what each topology implies for it. Data, not code."""
