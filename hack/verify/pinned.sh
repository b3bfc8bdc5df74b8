#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/verify/pinned.sh [DOCKERFILE [WORKFLOW...]]
#
# What a release is built from is the same tomorrow: images by digest and actions by commit, each with its tag for the
# reader. The Go that writes the bill of materials is the one that builds the images.
set -uo pipefail

dockerfile=${1:-Dockerfile}
shift
[ $# -gt 0 ] || set -- .github/workflows/*.yaml

bad=$(
  # Images: those that are named, and the defaults of arguments that name one.
  awk '/^FROM / { image = $2 ~ /^--platform=/ ? $3 : $2; if (image !~ /^\$\{/ && image != "scratch") print FILENAME ": " image }
       /^ARG .*[:\/]/ { sub(/^ARG [A-Z_]+=/, ""); print FILENAME ": " $0 }' "$dockerfile" |
    grep -vE ':[^:@]+@sha256:[0-9a-f]{64}$' | sed 's/$/ is no image by tag and digest, as NAME:TAG@sha256:.../'
  grep -nHE '^ *(- )?uses:' "$@" | grep -vE 'uses: [^@ ]+@[0-9a-f]{40} # v[0-9.]+$' | sed 's/$/ is not pinned, as ACTION@COMMIT # TAG/'
  go_version=$(sed -nE 's/^ARG GO_IMAGE=.*:([0-9.]+)@.*/\1/p' "$dockerfile")
  grep -nHE 'go-version:' "$@" | grep -vE "go-version: ${go_version//./\\.}( #.*)?$" | sed "s/\$/ is not Go $go_version, which builds the images/"
)
[ -z "$bad" ] && exit 0
echo "$bad"
exit 1
