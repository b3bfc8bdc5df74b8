#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: [DEADLINE=...] hack/test/suite.sh PACKAGE [ginkgo flags...]
#
# Runs one suite, once, for an hour at most, or until DEADLINE (see deadline.sh). Each line is shown as it comes, with the
# name of the suite, and is kept in bin/logs.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
. hack/test/deadline.sh

package=$1
shift
name=${package##*/}
log=bin/logs/$name.log
mkdir -p bin/logs

began=$SECONDS
go test -v -count=1 -timeout "$(timeout_within 3600)s" "$package" "$@" 2>&1 | tee "$log" | sed -u "s/^/[$name] /"
code=${PIPESTATUS[0]}
if [ "$code" -eq 0 ]; then
  echo "==> $package passed in $((SECONDS - began))s"
else
  echo "==> $package FAILED after $((SECONDS - began))s: $log"
fi
[ "$code" -eq 0 ]
