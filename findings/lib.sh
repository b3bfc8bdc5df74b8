# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: what the scripts of this folder share. A script starts in an empty temporary folder, which is removed when the
# script ends. It fetches pinned packages, runs them, and compares what they print with what was seen before. Go keeps
# modules and compiled packages in its own caches, as for any build.
# shellcheck shell=bash

export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false -mod=mod" GOWORK=off

FINDING=$(basename "$0" .sh)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK" || exit
umask 022
PINNED=()

# go_modules MODULE@VERSION... makes a Go module that requires exactly these versions.
go_modules() {
  PINNED=("$@")
  go mod init finding 2>/dev/null
  local module
  for module in "$@"; do go mod edit -require="$module"; done
}

# go_run builds the program on its standard input, in the module of go_modules if there is one, and runs it. What it prints is
# compared by expect. What it logs is shown only if it fails.
go_run() {
  local module
  [ -f go.mod ] || go mod init finding 2>/dev/null
  cat >main.go
  go build -o finding . 2>build.log || { cat build.log >&2; end "does not build"; }
  # A requirement of one module can raise the version of another one, which is then not what was pinned.
  for module in "${PINNED[@]}"; do
    [ "$(go list -m -f '{{.Path}}@{{.Version}}' "${module%@*}")" = "$module" ] || end "runs with another version than $module"
  done
  ./finding >output 2>log || { cat output log >&2; end "the program failed"; }
}

# debian_packages NAME=VERSION... unpacks packages of Debian into the folder root, and installs nothing.
debian_packages() {
  local package
  apt-get download "$@" >apt.log 2>&1 || { cat apt.log >&2; end "cannot download $*"; }
  for package in ./*.deb; do dpkg -x "$package" root; done
  export PATH="$WORK/root/usr/bin:$WORK/root/usr/sbin:$WORK/root/bin:$WORK/root/sbin:$PATH"
}

# expect compares the file "output" with the standard input and says how the finding stands.
expect() {
  diff -u --label "seen before" --label "seen now" - output || end "behaves differently now"
  echo "$FINDING: as described"
}

# end REASON fails the script.
end() {
  echo "$FINDING: $1" >&2
  exit 1
}
