#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  GRUB 2.06-13+deb12u2 (Debian 12: grub-common), e2fsprogs 1.47.0-2+b2
# Guess:     A boot loader sees of an ext4 file system what the kernel sees when it mounts that: after a loss of power, what is in the
#            journal has been written.
# Behaviour: GRUB reads the file system and not its journal. What has been committed there, and is not at its place yet, does not
#            exist for it, until something has mounted the file system. A new default, kernel or environment that was flushed with
#            fsync may be missed at the next boot.
# Seen:      what expect compares below. debugfs writes a block to the journal of an image, as the kernel does before it writes it to
#            its place, and grub-fstest reads the image with GRUB's own code. Needs no root: nothing is mounted.
# Source:    grub-core/fs/ext2.c of GRUB, which accepts file systems that need recovery (EXT2_DRIVER_IGNORED_INCOMPAT) and replays
#            nothing
# Here:      agent/osplugin/elemental/flush.go and flush_linux.go flush twice, so that the journal is written to its place before GRUB's
#            variables select what is new.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

debian_packages grub-common=2.06-13+deb12u2 e2fsprogs=1.47.0-2+b2

# block CHARACTER prints the content of one block.
block() { head -c 1024 /dev/zero | tr '\0' "$1"; }

mkdir source
block o >source/default
block n >new
mke2fs -q -t ext4 -b 1024 -d source image 4M >/dev/null
place=$(debugfs -R "bmap /default 0" image 2>/dev/null)
printf 'jo\njw -b %s new\njc\n' "$place" | debugfs -w image >/dev/null 2>&1

# seen PROGRAM IMAGE prints what GRUB, or e2fsprogs, reads.
seen() {
  local content
  case "$1" in
    GRUB) content=$(grub-fstest "$WORK/$2" cat '(loop0)/default' | head -c 3) ;;
    *) content=$(debugfs -R 'cat /default' "$2" 2>/dev/null | head -c 3) ;;
  esac
  case "$content" in
    ooo) echo "$1: the old content" ;;
    nnn) echo "$1: the new content" ;;
    *) echo "$1: $content" ;;
  esac
}

cp image recovered
e2fsck -fp recovered >/dev/null 2>&1 || true # its exit code is 1 because it has changed something
{
  seen GRUB image
  echo "after the journal was replayed"
  seen e2fsprogs recovered
  seen GRUB recovered
} >output
expect <<'SEEN'
GRUB: the old content
after the journal was replayed
e2fsprogs: the new content
GRUB: the new content
SEEN
