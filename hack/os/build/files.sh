#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: files.sh FOLDER
#
# Copies the files of a folder to the root of the image, with modes that do not depend on the umask of whoever checked them out.
set -euo pipefail

cd "$1"
find . -type f -printf '%P\n' | while read -r file; do
  mode=0644
  [ ! -x "$file" ] || mode=0755
  install -D --mode="$mode" "$file" "/$file"
done
