#!/bin/bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: NAME=... GROUP=... DIR=DIRECTORY USR=DIRECTORY node.sh boot
#        NAME=... LINK=... HERE=ADDRESS THERE=ADDRESS SERVICES=NETWORK PODS=NETWORK SHARED=ADDRESS node.sh connect
#        NAME=... GROUP=... LINK=... node.sh clean
#
# A Node: DIR/tree is its root file system, USR what it has in /usr above that of this machine. GROUP is the control group of all
# Nodes. "connect" gives it its network: LINK, which it shares with this machine, which reaches its Services and Pods through it, and an address that it
# shares with other Nodes.
set -euo pipefail

case $1 in
  boot)
    # The Node has control groups of its own in each hierarchy of cgroup v1.
    for hierarchy in /sys/fs/cgroup/*/; do
      group=$hierarchy/$GROUP/$NAME
      mkdir -p "$group"
      for file in cpuset.cpus cpuset.mems; do
        [ -e "$hierarchy/$file" ] || continue
        for of in "$hierarchy/$GROUP" "$group"; do cat "$hierarchy/$file" >"$of/$file"; done
      done
      echo 0 >"$group/cgroup.procs"
    done
    mkdir -p /run/systemd
    exec unshare --mount --pid --fork --kill-child --propagation private bash "$0" booting
    ;;
  booting)
    mount -t proc proc /proc
    mkdir -p "$DIR/merged"
    mount -t overlay -o "lowerdir=$USR:/usr" usr "$DIR/merged"
    # What systemd-nspawn hides files with.
    mount -t tmpfs -o mode=755 systemd /run/systemd
    mkdir -p /run/systemd/inaccessible/dir
    cd /run/systemd/inaccessible
    touch reg && mkfifo fifo && mknod chr c 0 0 && mknod blk b 0 0 && chmod 000 ./*
    cd /
    exec env SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet --boot --directory="$DIR/tree" --machine="$NAME" --hostname="$NAME" \
      --register=no --keep-unit --console=read-only --link-journal=no --resolv-conf=off --timezone=off \
      --capability=all --system-call-filter="@keyring bpf" --network-namespace-path="/run/netns/$NAME" --bind=/dev/null:/dev/kmsg \
      --bind="$DIR/merged:/usr" -- systemd.show_status=0
    ;;
  connect)
    ip netns add "$NAME"
    ip link add "$LINK" type veth peer name host0 netns "$NAME"
    ip address add "$HERE/24" dev "$LINK"
    ip link set "$LINK" up
    ip -netns "$NAME" link set lo up
    ip -netns "$NAME" address add "$SHARED/32" dev lo
    ip -netns "$NAME" address add "$THERE/24" dev host0
    ip -netns "$NAME" link set host0 up
    ip -netns "$NAME" route add default via "$HERE"
    ip netns exec "$NAME" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
    for network in "$SERVICES" "$PODS"; do ip route add "$network" via "$THERE"; done
    ;;
  clean)
    ip link delete "$LINK" 2>/dev/null || true
    ip netns delete "$NAME" 2>/dev/null || true
    find /sys/fs/cgroup/*/"$GROUP/$NAME" -depth -type d -exec rmdir {} + 2>/dev/null || true
    rmdir /sys/fs/cgroup/*/"$GROUP" 2>/dev/null || true # unless another Node has one
    ;;
esac
