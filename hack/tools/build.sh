#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/tools/build.sh NAME...
#
# Builds tools from Go modules into bin/tools. NAME is a tool or a group: demo, lab, dev, kubevirt, certmanager, all (see catalog.sh). What
# is there and current is left alone. May run many times at once, and may be interrupted at any moment: an output is built in
# another folder and renamed when it is whole.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/env.sh"
. "$here/catalog.sh"
. "$here/stamp.sh"
. "$here/lock.sh"
. "$here/progress.sh"

TEMPORARY=""

main() {
  [ $# -gt 0 ] || { sed -n 's/^# \{0,1\}//; 5,9p' "${BASH_SOURCE[0]}" >&2; exit 2; }
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  mkdir -p "$TOOLS_BIN/.tmp" "$TOOLS_BIN/.logs"

  local names group count=0 total=0 began=$SECONDS
  names=$(expand_tools "$@")
  names=$(stale $names)
  total=$(wc -w <<<"$names")
  while [ -n "$names" ]; do
    group=$(together $names)
    build "$((count + 1))/$total" $group
    count=$((count + $(wc -w <<<"$group")))
    names=$(without "$group" $names)
  done
  if [ "$total" -gt 0 ]; then echo "Built $total tools into bin/tools in $((SECONDS - began))s"; fi
}

# stale NAME... prints the tools that are not current.
stale() {
  local name
  for name in "$@"; do
    read_key "$name"
    is_stamped "$TOOLS_BIN/$name" "$KEY" || printf '%s ' "$name"
  done
}

# together NAME... prints the first tool, and those of the others that one "go build" makes with it: they have its module and its
# flags, and no other is called like their package. What they share is compiled once, and one is linked while another is compiled.
together() {
  local name with taken=" "
  describe_tool "$1"
  with="$TOOL_MODULE $TOOL_LDFLAGS"
  for name in "$@"; do
    describe_tool "$name"
    case $taken in *" $(built_as) "*) continue ;; esac
    [ "$TOOL_MODULE $TOOL_LDFLAGS" = "$with" ] || continue
    taken="$taken$(built_as) "
    printf '%s ' "$name"
  done
}

# built_as prints the name that "go build" gives the described tool: the last part of its path, but for a major version.
built_as() {
  local path=$TOOL_PACKAGE
  case ${path##*/} in v[0-9]*) path=${path%/*} ;; esac
  echo "${path##*/}"
}

# without "LEFT OUT" NAME... prints the others.
without() {
  local out=" $1 " name
  shift
  for name in "$@"; do
    case $out in *" $name "*) ;; *) printf '%s ' "$name" ;; esac
  done
}

# build COUNT NAME... builds tools that go together, unless another process has done so in the meantime.
build() {
  local count=$1 first=$2 names name began=$SECONDS log
  shift
  describe_tool "$first"
  log="$TOOLS_BIN/.logs/$first.log"
  lock "module-$TOOL_MODULE" "$TOOLS_BIN"
  names=$(stale "$@")
  if [ -n "$names" ]; then
    rm -rf "$TOOLS_BIN/.tmp/$TOOL_MODULE".* # of builds that were killed
    TEMPORARY="$TOOLS_BIN/.tmp/$TOOL_MODULE.$$"
    mkdir "$TEMPORARY"
    run_shown "[$count] building $names" "$log" compile $names || explain_failure "$names" "$log"
    for name in $names; do
      read_key "$name"
      mv -f "$TEMPORARY/$(built_as)" "$TOOLS_BIN/$name"
      set_stamp "$TOOLS_BIN/$name" "$KEY"
    done
    remove_temporary
  fi
  unlock
  echo "[$count] $* ready, $((SECONDS - began))s"
}

# compile NAME...: the work folder of "go build" lies beside the outputs, so that whatever ends this build, both are removed.
compile() {
  local name packages=()
  for name in "$@"; do
    describe_tool "$name"
    packages+=("$TOOL_PACKAGE")
  done
  cd "$TOOLS_SRC/$TOOL_MODULE"
  GOTMPDIR="$TEMPORARY" exec go build -v -ldflags "$TOOL_LDFLAGS" -o "$TEMPORARY/" "${packages[@]}"
}

# read_key NAME describes the tool and sets KEY, hashing each module once per run. What the catalog says of other tools
# is no part of it.
read_key() {
  describe_tool "$1"
  local cached="KEY_$TOOL_MODULE"
  KEY=${!cached:-}
  if [ -z "$KEY" ]; then
    KEY=$(module_key "$TOOL_MODULE")
    printf -v "$cached" %s "$KEY"
  fi
  KEY="$KEY $TOOL_PACKAGE $TOOL_LDFLAGS"
}

explain_failure() {
  echo "hack/tools: building $1 failed; the end of $2:" >&2
  grep -v '^go: downloading ' "$2" | tail -n 30 >&2
  exit 1
}

clean_up() {
  stop_child
  remove_temporary
}

remove_temporary() {
  if [ -n "$TEMPORARY" ]; then rm -rf "$TEMPORARY"; fi
  TEMPORARY=""
}

main "$@"
