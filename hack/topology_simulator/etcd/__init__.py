"""Real etcd members with mutual TLS, for tests and for the cluster in a box.

Everything that is said about membership elsewhere is a claim (a ConfigMap, conditions); here are the processes that
the claims are about. Loopback only, free ports, data in a temporary folder, and gone even when their parent
is killed (`keeper` owns them).

    certificates  a CA, certificates of members and clients, and spoilt ones
    gateway       a client of the JSON gateway: members, status, health; add, promote, remove
    keeping       the processes, by way of the keeper
    member        one member: start, kill, pause, resume; ready or why not
    cluster       several: a first one, learners that are added and promoted, members that are taken away

What etcd does that one would not think (3.5 and 3.6 alike, unless said otherwise):

* A learner refuses every question about membership (`rpc not supported for learner`, code 9, in 3.5 code 14), but
  answers its status and says on /health that it is well. It is no voter, and it looks like one.
* A learner that has not started cannot be promoted; one that has can be within some 20 ms on an empty store.
* One learner at a time (`too many learner members in cluster`, code 9).
* No member is added while a voter has been connected for less than five seconds (`unhealthy cluster`, code 14), so that
  growing from one to three takes more than that. `Cluster(strict=False)` turns this off.
* A member that its peers do not let in accepts connections and answers nothing, not even /health, until it has joined.
* Plain HTTP on the TLS port is cut off without a word.
* Serving certificates are read at every handshake, the CA that clients are held to only at the start.

Nothing here knows Kubernetes. Who drives a cluster from the API is `actors.real_etcd_operator`; `test/etcd` holds the
operator's own check against it.
"""


class EtcdError(Exception):
    """Members or their processes did not do what was wanted; the message says what they said last."""
