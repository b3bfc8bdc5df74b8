#!/bin/bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: programs.sh TREE NAME...
#
# Copies programs of this machine, with their libraries, into /usr of a tree.
set -euo pipefail
tree=$1
shift
mkdir -p "$tree"/usr/{bin,sbin,lib,lib64}
for link in bin sbin lib lib64; do [ -e "$tree/$link" ] || ln -s "usr/$link" "$tree/$link"; done
for name in "$@"; do
  binary=$(readlink -f "$(command -v "$name")")
  cp "$binary" "$tree/usr/bin/$name"
  ldd "$binary" | grep -o '/[^ ]*' | while read -r library; do cp -L --parents "$library" "$tree"; done
done
