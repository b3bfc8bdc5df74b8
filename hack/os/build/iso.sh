#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds $NAME.iso and its checksum in /output from the tree in /rootfs, with the agent's configuration on top.
set -euo pipefail

install -D --mode=0600 /run/secrets/agent-config /overlay/etc/elemental/agent/config.yaml
chmod 0700 /overlay/etc/elemental/agent
# Of the container that builds: https://github.com/containers/buildah/issues/4242
rm -f /rootfs/etc/resolv.conf
elemental build-iso --bootloader-in-rootfs --overlay-rootfs /overlay --name "$NAME" --output /output dir:/rootfs
rm -rf /overlay
