# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: which files the checks look at: those that are in git or will be, as git status sees them.

# on_source_files COMMAND... runs COMMAND on all Go files and scripts that are written by hand.
on_source_files() { on_files '*.go' '*.sh' Makefile .ci/run -- "$@"; }

# on_go_files COMMAND... runs COMMAND on all Go files that are written by hand.
on_go_files() { on_files '*.go' -- "$@"; }

# on_files PATTERN... -- COMMAND...
on_files() {
  local patterns=() file
  while [ "$1" != -- ]; do
    patterns+=("$1")
    shift
  done
  shift
  git ls-files --cached --others --exclude-standard -- "${patterns[@]}" | sort -u | while read -r file; do
    case "$file" in *zz_generated.*) continue ;; esac
    if [ -f "$file" ]; then printf '%s\0' "$file"; fi
  done | xargs -0 "$@"
}
