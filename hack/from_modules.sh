# Builds programs from Go modules into a cache keyed by their content; for `envtest` and `engines`, which say what and where.
#
# Who sources this sets `program` (its name), `modules` (the folder of the go.mod in use) and `otherwise` (what one can do
# without building, or nothing), and has the functions go_build FOLDER NAME, binary_version NAME and how_to_help_yourself.
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

clean_up_at_the_end() {
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# What a build that was killed without warning could not take away itself.
remove_leftovers() {
  local leftover
  for leftover in "$1"/.work.*; do
    [ -e "$leftover" ] || continue
    kill -0 "${leftover##*.}" 2>/dev/null || rm -rf -- "$leftover"
  done
}

# Builds in a folder of its own inside the cache and renames, so that a binary is either absent
# or whole. Two builds at once do the work twice and agree on the result. Job control is on
# only while Go is started: it gives Go and its compilers a process group that clean_up can end.
build_binary() {
  local folder=$1 name=$2 started=$SECONDS label status=0
  label="$name $(binary_version "$name")"
  set -m
  go_build "$work" "$name" </dev/null >"$work/log" 2>&1 &
  build_group=$!
  set +m
  if [ -t 2 ]; then
    while kill -0 "$build_group" 2>/dev/null; do
      printf '\r%s: building %s: %d s ' "$program" "$label" $((SECONDS - started)) >&2
      sleep 1
    done
    printf '\r\033[K' >&2
  fi
  wait "$build_group" || status=$?
  build_group=""
  if [ "$status" -ne 0 ]; then
    cat -- "$work/log" >&2
    fail "building $label failed after $((SECONDS - started)) s (Go's exit status $status, its output is above)"
  fi
  mv -f -- "$work/$name" "$folder/$name"
  say "built $label in $((SECONDS - started)) s, $(($(wc -c <"$folder/$name") / 1048576)) MiB"
}

# Go itself knows best whether it can work with this go.mod: an older one may be allowed to
# fetch a newer toolchain, or not (GOTOOLCHAIN=local).
require_go() {
  local complaint
  command -v go >/dev/null || fail "Go is not installed; $(how_to_help_yourself)"
  if ! complaint=$(cd -- "$modules" && GOWORK=off go list -mod=readonly -m 2>&1); then
    fail "Go refuses go.mod (${complaint##*$'\n'}); $(how_to_help_yourself)"
  fi
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
