"""What the engines of a fleet make of our pack, where the question is too small for a story (`make fleet`).

hack/engines builds them, hack/envtest the API server; without them nothing here runs. `make fleet-all` begins with it.
"""
