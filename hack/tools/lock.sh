# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: one builder at a time per output. The lock belongs to file descriptor 9, so the kernel drops it however the
# script ends; a lock file that is left behind means nothing.

# lock NAME DIR waits until this process is the only one that builds NAME in DIR.
lock() {
  mkdir -p "$2/.locks"
  exec 9>"$2/.locks/$1"
  take_lock nonblocking && return
  echo "      $1: another process is building it, waiting"
  take_lock blocking
}

unlock() { exec 9>&-; }

# take_lock MODE locks descriptor 9. macOS has no flock(1), but perl (which git needs as well) can do the same. With
# neither, builders may repeat each other's work; they still cannot harm it, as outputs only ever appear by rename.
take_lock() {
  if command -v flock >/dev/null; then
    if [ "$1" = blocking ]; then flock 9; else flock -n 9; fi
  elif command -v perl >/dev/null; then
    perl -MFcntl=:flock -e 'open(my $fd, ">&=", 9) or die; exit !flock($fd, $ARGV[0] eq "blocking" ? LOCK_EX : LOCK_EX | LOCK_NB)' "$1"
  fi
}
