#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  GRUB 2.06-13+deb12u2 (Debian 12: grub-common), strace 6.1-0.1
# Guess:     grub-editenv either leaves the former block of variables or the new one: it overwrites the block, or renames a new file,
#            and a program that is killed changes nothing.
# Behaviour: It empties the file as it opens it, and writes it again after that. Killed in between, or after a loss of power, the file
#            is empty: all variables are gone, and neither grub-editenv nor GRUB reads it or writes to it any more.
# Seen:      what expect compares below. strace kills grub-editenv as it is about to write. Needs no root.
# Source:    grub_util_fopen (..., "wb") in write_envblk of util/grub-editenv.c of GRUB
# Here:      agent/osplugin/elemental/grub.go has grub2-editenv change a copy (writeBlock), overwrites the block by a single write, and
#            makes a damaged block again.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

debian_packages grub-common=2.06-13+deb12u2 strace=6.1-0.1

variables="$WORK/grubenv"
# show prints the size of the block and what grub-editenv reads of it.
show() {
  echo "$1: $(stat -c %s "$variables") bytes"
  grub-editenv "$variables" list 2>&1 | sed 's/^.*error: /error: /' || true
}

grub-editenv "$variables" create
grub-editenv "$variables" set saved_entry=active
{
  show "before"
  strace -o trace -P "$variables" -e trace=write -e inject=write:signal=KILL:when=1 grub-editenv "$variables" set next_entry=recovery || true
  show "after it was killed"
} >output 2>log
expect <<'SEEN'
before: 1024 bytes
saved_entry=active
after it was killed: 0 bytes
error: invalid environment block.
SEEN
