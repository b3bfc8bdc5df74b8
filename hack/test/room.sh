# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: how many jobs run side by side. LOAD is the command that prints the load of the machine for each processor.

# busiest is the load for each processor above which no job is started beside others.
busiest=4

# await_room JOBS waits until fewer jobs of this shell run, and, while any runs, until the machine is not too busy for another.
await_room() {
  local running
  while running=$(jobs -rp | wc -l) && [ "$running" -gt 0 ]; do
    if [ "$running" -ge "$1" ]; then
      wait -n
    elif [ "$(${LOAD:-load})" -ge "$busiest" ]; then
      sleep 1
    else
      return 0
    fi
  done
}

load() { awk -v processors="$(getconf _NPROCESSORS_ONLN)" '{ print int($1 / processors) }' /proc/loadavg 2>/dev/null || echo 0; }

# Jobs in the background do not see Ctrl-C.
trap 'kill 0' INT
