#!/bin/sh
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# What Cluster API's bootstrap provider for RKE2 runs where agentConfig.airGapped is set, before it enables and starts a unit: RKE2 is in
# the image.
set -eu

echo "RKE2 $(cat /usr/share/rke2/version) is part of the OS image"
systemctl daemon-reload
