# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: tells whether an output is current. Beside each output a stamp keeps the hash of what it was made from:
# the module files, the scripts, the Go version and the platform. Time stamps play no part, so that a fresh checkout,
# a switched branch and a copied folder all do the right thing.

# A Go version line for the hash; asked for once.
GO_VERSION="$(go env GOVERSION GOOS GOARCH | tr '\n' ' ')"

# hash_of FILE... prints one hash over the contents of the files and the Go version.
hash_of() {
  { echo "$GO_VERSION"; cat "$@"; } | if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c1-64
}

# module_key FOLDER prints the hash of a tool module, with the code of its own if it has any, and of what builds it.
module_key() {
  local sources
  sources=$(find "$TOOLS_SRC/$1" -name '*.go' | LC_ALL=C sort)
  # shellcheck disable=SC2086 # one word for each file
  hash_of "$TOOLS_SRC/$1/go.mod" "$TOOLS_SRC/$1/go.sum" $sources "$TOOLS_SRC/env.sh" "$TOOLS_SRC/build.sh"
}

# is_stamped OUTPUT KEY succeeds when OUTPUT is there and was made from KEY.
is_stamped() {
  local file
  file=$(stamp_file "$1")
  [ -s "$1" ] && [ -s "$file" ] && [ "$(<"$file")" = "$2" ]
}

# set_stamp OUTPUT KEY records that OUTPUT was made from KEY. Call it after OUTPUT has its final name.
set_stamp() {
  local file
  file=$(stamp_file "$1")
  mkdir -p "${file%/*}"
  echo "$2" >"$file.$$" && mv -f "$file.$$" "$file"
}

stamp_file() { echo "${1%/*}/.stamps/${1##*/}"; }
