#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# What is generated is what the sources say now. It is compared with the files as they are, committed or not; stale
# ones are left regenerated.
set -euo pipefail

# snapshot DIR copies every generated file.
snapshot() {
  local file
  for file in api/*/zz_generated.*.go config/crd/bases/*.yaml config/rbac/role.yaml config/webhook/manifests.yaml docs/reference/*.md; do
    [ -f "$file" ] || continue
    mkdir -p "$1/${file%/*}"
    cp "$file" "$1/$file"
  done
}

before=$(mktemp -d)
after=$(mktemp -d)
trap 'rm -rf "$before" "$after"' EXIT

snapshot "$before"
make --no-print-directory -s generate manifests generate-docs
snapshot "$after"
diff -ru "$before" "$after" && exit 0
echo 'Generated files were stale and have been written again ("make generate manifests generate-docs"); commit them'
exit 1
