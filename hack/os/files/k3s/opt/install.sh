#!/bin/sh
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# What Cluster API's bootstrap provider for K3s runs where agentConfig.airGapped is set: K3s is in the image, and is started as what
# INSTALL_K3S_EXEC says.
set -eu

case "${INSTALL_K3S_EXEC:-server}" in
  server*) unit=k3s.service ;;
  agent*) unit=k3s-agent.service ;;
  *)
    echo "INSTALL_K3S_EXEC=$INSTALL_K3S_EXEC begins neither with server nor with agent" >&2
    exit 1
    ;;
esac
echo "K3s $(cat /usr/share/k3s/version) is part of the OS image: starting $unit"
systemctl daemon-reload
systemctl enable "$unit"
systemctl start --no-block "$unit"
