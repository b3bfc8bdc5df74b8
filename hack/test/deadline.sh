# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: how much time tests have. DEADLINE is when all of them have to be done, in seconds since 1970; without it they
# have as long as each may take. CLOCK is the command that tells the time.

now() { ${CLOCK:-date +%s}; }

# has_time SECONDS says whether as much is left.
has_time() { [ -z "${DEADLINE:-}" ] || [ "$(seconds_left)" -ge "$1" ]; }

seconds_left() { echo $((DEADLINE - $(now))); }

# timeout_within LIMIT prints a time-out in seconds that ends by DEADLINE: LIMIT at most, and 1 at least, since Go takes 0 for none.
timeout_within() {
  local timeout=$1
  has_time "$timeout" || timeout=$(seconds_left)
  [ "$timeout" -ge 1 ] || timeout=1
  echo "$timeout"
}
