#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/test/pods-packages.sh
#
# Installs the packages of Debian that test/pods needs, those that are missing, and fails with what this machine lacks. docs/testing.md
# lists them too.
set -euo pipefail

lacks=()
[ "$(id -u)" -eq 0 ] || lacks+=("root")
[ -e /sys/fs/cgroup/memory/cgroup.procs ] && [ -e /sys/fs/cgroup/unified/cgroup.procs ] || lacks+=("cgroup v1 beside the unified hierarchy")
command -v apt-get >/dev/null || lacks+=("Debian's apt-get")
if [ "${#lacks[@]}" -gt 0 ]; then
  printf 'managers cannot run as Pods on this machine, which lacks: %s\n' "${lacks[@]}" >&2
  exit 1
fi

missing=()
for package in containerd containernetworking-plugins dbus iproute2 iptables mount nftables runc systemd systemd-container util-linux; do
  dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && exit 0
echo "managers cannot run as Pods on this machine: these packages cannot be installed: ${missing[*]}" >&2
exit 1
