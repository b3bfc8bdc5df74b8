#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Functions for the scripts of the flavors. What is downloaded is compared with the checksum that is published beside it.

# architecture of the image, as releases are named.
architecture() {
  case "$(uname -m)" in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) uname -m ;;
  esac
}

# download URL FILE
download() {
  curl --fail --silent --show-error --location --retry 3 --output "$2" "$1" || {
    echo "cannot download $1" >&2
    return 1
  }
}

# fetch URL FILE SUMS NAME downloads a file that the checksums at the URL SUMS list as NAME. A list with one checksum may have no name.
fetch() {
  local sums wanted
  sums=$(mktemp)
  download "$3" "$sums"
  wanted=$(awk -v name="$4" 'NF == 1 || $2 == name || $2 == "*" name { print $1; exit }' "$sums")
  rm -f "$sums"
  download "$1" "$2"
  [ -n "$wanted" ] && echo "$wanted  $2" | sha256sum --check --quiet - && return
  rm -f "$2"
  echo "$1 is not what $3 says it is" >&2
  return 1
}
