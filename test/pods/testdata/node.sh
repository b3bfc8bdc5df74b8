#!/bin/bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: NODE=DIRECTORY NAME=... node.sh boot | connect | clean
#
# The Node: NODE/tree is its root file system, NODE/usr what it has in /usr above that of this machine. "connect" gives it its network: an
# interface that it shares with this machine, which reaches Services and Pods through it.
set -euo pipefail

link=elpods0 here=10.213.200.1 there=10.213.200.2

case $1 in
  boot)
    # The Node has control groups of its own in each hierarchy of cgroup v1.
    for hierarchy in /sys/fs/cgroup/*/; do
      group=$hierarchy/elemental-pods/$NAME
      mkdir -p "$group"
      for file in cpuset.cpus cpuset.mems; do
        [ -e "$hierarchy/$file" ] || continue
        for of in "$hierarchy/elemental-pods" "$group"; do cat "$hierarchy/$file" >"$of/$file"; done
      done
      echo 0 >"$group/cgroup.procs"
    done
    mkdir -p /run/systemd
    exec unshare --mount --pid --fork --kill-child --propagation private bash "$0" booting
    ;;
  booting)
    mount -t proc proc /proc
    mkdir -p "$NODE/merged"
    mount -t overlay -o "lowerdir=$NODE/usr:/usr" usr "$NODE/merged"
    # What systemd-nspawn hides files with.
    mount -t tmpfs -o mode=755 systemd /run/systemd
    mkdir -p /run/systemd/inaccessible/dir
    cd /run/systemd/inaccessible
    touch reg && mkfifo fifo && mknod chr c 0 0 && mknod blk b 0 0 && chmod 000 ./*
    cd /
    exec env SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet --boot --directory="$NODE/tree" --machine="$NAME" --hostname="$NAME" \
      --register=no --keep-unit --console=read-only --link-journal=no --resolv-conf=off --timezone=off \
      --capability=all --system-call-filter="@keyring bpf" --network-namespace-path="/run/netns/$NAME" --bind=/dev/null:/dev/kmsg \
      --bind="$NODE/merged:/usr" -- systemd.show_status=0
    ;;
  connect)
    ip netns add "$NAME"
    ip link add "$link" type veth peer name host0 netns "$NAME"
    ip address add "$here/24" dev "$link"
    ip link set "$link" up
    ip -netns "$NAME" link set lo up
    ip -netns "$NAME" address add "$there/24" dev host0
    ip -netns "$NAME" link set host0 up
    ip -netns "$NAME" route add default via "$here"
    ip netns exec "$NAME" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
    for network in 10.0.0.0/24 10.244.0.0/24; do ip route add "$network" via "$there"; done
    ;;
  clean)
    ip link delete "$link" 2>/dev/null || true
    ip netns delete "$NAME" 2>/dev/null || true
    find /sys/fs/cgroup/*/elemental-pods -depth -type d -exec rmdir {} + 2>/dev/null || true
    ;;
esac
