#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/test/nodes-packages.sh
#
# Installs the packages of Debian that test/nodes needs, those that are missing, and fails with what this machine lacks. docs/testing.md
# lists them too.
set -uo pipefail

lacks=()
[ "$(id -u)" -eq 0 ] || lacks+=("root")
[ -e /dev/loop-control ] || lacks+=("loop devices")
[ -e /sys/fs/cgroup/memory/cgroup.procs ] && [ -e /sys/fs/cgroup/unified/cgroup.procs ] || lacks+=("cgroup v1 beside the unified hierarchy")
unshare --mount --pid --net --fork true 2>/dev/null || lacks+=("the right to make namespaces (CAP_SYS_ADMIN)")
command -v apt-get >/dev/null || lacks+=("Debian's apt-get")
if [ "${#lacks[@]}" -gt 0 ]; then
  printf 'real nodes cannot run on this machine, which lacks: %s\n' "${lacks[@]}" >&2
  exit 1
fi

missing=()
for package in containerd containernetworking-plugins dbus e2fsprogs grub-common iproute2 iptables mount rsync runc squashfs-tools systemd systemd-container util-linux; do
  dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && exit 0
echo "real nodes cannot run on this machine: these packages cannot be installed: ${missing[*]}" >&2
exit 1
