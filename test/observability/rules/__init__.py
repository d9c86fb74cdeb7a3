"""Stories of the rules in bindata/monitoring, in promtool's own format: `promtool test rules FILE`.

stuck, blocked, two_voters, not_watching   one file for each alert: when it fires, when it does not quite, when it ends
recorded   what a fleet collects
levels, fleet_levels   what a transition took, and what of that a fleet has; fleet_* are about the rules of a hub
hub   the rules of a fleet, bindata/fleet, and stories that test_rules_of_a_fleet makes up
promtool   runs promtool on them, and reads which series and labels an expression asks for
"""
