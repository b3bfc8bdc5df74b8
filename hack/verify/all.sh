#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/verify/all.sh [CHECK...]
#
# Runs every check of this folder, or those named, and fails if one of them fails. Each is a script that prints nothing
# but what is wrong and what to do. The cheap ones come first.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false -gcflags=all=-dwarf=false"

[ $# -gt 0 ] || set -- license-headers file-length gofmt package-comments pinned agent-imports tidy generated lint e2e

failed=""
check="" began=$SECONDS
trap 'echo "verify: $check FAILED: it was ended after $((SECONDS - began))s"; exit 1' TERM
for check in "$@"; do
  began=$SECONDS
  if "hack/verify/$check.sh"; then
    echo "verify: $check ok ($((SECONDS - began))s)"
  else
    echo "verify: $check FAILED"
    failed="$failed $check"
  fi
done

if [ -n "$failed" ]; then
  echo "verify: failed:$failed; run one again with hack/verify/all.sh NAME"
  exit 1
fi
