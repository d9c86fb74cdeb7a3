"""Keeps one operator busy and disturbed for half an hour or a day, and judges whether anything in it grows.

    python -m test.soak [--hours 0.5] [--seed 1] [--output build/soak.json]

A request is open and one missing fact keeps it Pending, so that everything is watched. Nodes send heartbeats, watches
are cut, expire or fall silent, requests are refused, metrics are scraped. Nothing of this changes what the operator has
to say: it must write nothing, and after a warm-up its memory, tasks, threads and file descriptors must stay as they
are.

The rooms: `cluster` (the API server with the heartbeats, a process), `disturb` (what goes wrong, from a seed), `run`
(their order, and the samples), `verdict` (pure: what is growth and what is noise). Servers, cluster and the look from
outside come from `test.bench`.
"""
