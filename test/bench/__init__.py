"""Measures what the README promises: reaction, memory, CPU, requests, start.

    python -m test.bench [--apiserver embedded|real] [--short] [--only FIGURE] [--output build/bench.json]

Everything is a process of its own, as in production: the operator, the API server, a second API server with
the same cluster for the floor, the floor itself, and whoever sends heartbeats. The driver (this process) makes
requests, looks on through a watch of its own, plays a version operator that answers at once, and counts.

The parts: `figures` (what is reported), `servers`, `processes` and `procfs` (what runs, and what it costs), `lookout`
(sees the change), `requests` (what was asked, from the audit log), `side` (one cluster and how a trial is undone),
`floor` and `beats` (processes), `reaction` and `costs` (the measurements), `measure` (their order), `fleet` (many
operators at once, a command of its own). Milliseconds of one machine say little; ratios to a floor that was measured in
between say more.
"""
