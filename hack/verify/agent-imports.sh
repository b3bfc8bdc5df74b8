#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The agent runs on every host: it must stay small, and holds no Kubernetes credentials. Nothing that it imports, at any
# depth, is a Kubernetes or Cluster API module. klog is a log without Kubernetes, which the library of certificate
# transparency comes with that sigstore's verifies certificates by. The toolkit's engine is for the lab alone.
set -euo pipefail

dependencies=$(go list -deps ./cmd/elemental-agent)
forbidden=$(echo "$dependencies" | grep -E '^(k8s\.io|sigs\.k8s\.io)/' | grep -Ev '^k8s\.io/klog/v2(/|$)' || true)
engine=$(go list -deps ./cmd/... | grep -E '^github\.com/rancher/yip/' || true)
[ -z "$forbidden$engine" ] && exit 0
[ -n "$engine" ] && echo "cmd depends on the toolkit's engine, which is for the lab: $engine"
[ -z "$forbidden" ] || echo "cmd/elemental-agent depends on packages that the agent must not use (go list -deps shows the way):"
echo "$forbidden"
exit 1
