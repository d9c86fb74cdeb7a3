"""What people see, looked at with what they look at it with: promtool, a real Prometheus, a browser.

durations   rules and queries in which a minute is a second
monitoring  what bindata/monitoring tells a cluster's Prometheus: whom to scrape, which rules to evaluate
asking      Prometheus's HTTP API, typed
prometheus  a real Prometheus, one for each story
neighbours  metrics of others that the rules look at
stage       a cluster in a box, its operator over HTTPS, and a Prometheus that watches it, in one
"""
