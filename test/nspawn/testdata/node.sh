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
. "${BASH_SOURCE[0]%/*}/container.sh"

case $1 in
  boot)
    own_groups
    enter "$0" booting
    ;;
  booting)
    mount -t proc proc /proc
    mkdir -p "$DIR/merged"
    mount -t overlay -o "lowerdir=$USR:/usr" usr "$DIR/merged"
    make_hiding
    run_container --directory="$DIR/tree" --bind="$DIR/merged:/usr" -- systemd.show_status=0
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
