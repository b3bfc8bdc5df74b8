#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: [RUNS=10] [BUSY=8] hack/test/repeat.sh PACKAGE... [ginkgo flags...]
#
# Runs each package RUNS times, beside BUSY processes that do nothing but take processor time. A spec that is red once depends on how fast the
# machine is, or has found a fault. What each run prints is kept in bin/repeat, and is not removed: a later call goes on with the numbers.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
RUNS=${RUNS:-10} BUSY=${BUSY:-8}

packages=()
while [ $# -gt 0 ] && [[ $1 != -* ]]; do
  packages+=("$1")
  shift
done
[ ${#packages[@]} -gt 0 ] || { sed -n 's/^# \{0,1\}//; 5,8p' "${BASH_SOURCE[0]}" >&2; exit 2; }

trap 'kill 0' EXIT
for _ in $(seq "$BUSY"); do
  bash -c 'while :; do :; done' &
done

mkdir -p bin/repeat
red=0
for package in "${packages[@]}"; do
  name=$(tr / - <<<"${package#./}")
  for _ in $(seq "$RUNS"); do
    number=$(($(find bin/repeat -name "$name.*.log" | wc -l) + 1))
    log=bin/repeat/$name.$number.log
    began=$SECONDS
    if go test -count=1 -timeout 2h "$package" "$@" >"$log" 2>&1; then
      echo "$package run $number: passed, $((SECONDS - began))s"
    else
      echo "$package run $number: FAILED, $((SECONDS - began))s: $log"
      red=$((red + 1))
    fi
  done
done
trap - EXIT
jobs -p | xargs -r kill
[ "$red" -eq 0 ] || { echo "$red runs failed" >&2; exit 1; }
