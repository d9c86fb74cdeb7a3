"""What people see, looked at with what they look at it with: promtool, a real Prometheus, a browser.

monitoring       what bindata/monitoring tells a cluster's Prometheus, in rules in which a minute is a second
asking           Prometheus's HTTP API, typed
prometheus       a real Prometheus, one for each story
monitored_story  a cluster in a box, its operator over HTTPS, and a Prometheus that watches it, in one
panels           the queries of the dashboards, and whether they have data when they should
rules, page      stories of the rules for promtool; the status page in a browser
"""
