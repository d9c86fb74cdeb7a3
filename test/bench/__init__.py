"""Measures what the operator costs and how fast it is: reaction, start, memory, and requests while nothing is wanted.

    python -m test.bench [--apiserver embedded|real] [--short] [--output build/bench.json]

The operator and the API server are processes of their own, as in production. The driver (this process) makes requests,
looks on through watches of its own, and plays a version operator that answers at once. Milliseconds belong to the
machine: their targets are twice what was recorded on two quiet cores (docs/development/performance.md).

The rooms: `figures` (what is reported, and how a run is judged), `processes` and `servers` (what runs, what it costs,
what it was asked), `side` (the cluster, who looks on, and how a trial is undone), `measure` (the measurements, their
order and targets).
"""
