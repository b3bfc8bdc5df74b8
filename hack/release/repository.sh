#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: RELEASE_TAG=v0.8.0 hack/release/repository.sh RELEASE REPOSITORY
#
# Lays the assets in RELEASE out as a local clusterctl repository, and writes REPOSITORY/clusterctl.yaml, which names it:
# clusterctl --config REPOSITORY/clusterctl.yaml ...
set -euo pipefail

main() {
  [ $# -eq 2 ] || { sed -n 's/^# \{0,1\}//; 5,8p' "${BASH_SOURCE[0]}" >&2; exit 2; }
  local release=$1 repository
  mkdir -p "$2"
  repository=$(cd "$2" && pwd)
  infrastructure="$repository/infrastructure-elemental/$RELEASE_TAG"
  extension="$repository/runtime-extension-elemental/$RELEASE_TAG"
  rm -rf "$infrastructure" "$extension"
  mkdir -p "$infrastructure" "$extension"
  cp "$release"/{metadata,infrastructure-components}.yaml "$release"/cluster-template*.yaml "$release"/clusterclass-*.yaml \
    "$infrastructure/"
  cp "$release"/{metadata,runtime-extension-components}.yaml "$extension/"
  write_config >"$repository/clusterctl.yaml"
  echo "Wrote the repository of $RELEASE_TAG; use it with: clusterctl --config $repository/clusterctl.yaml"
}

write_config() {
  cat <<EOF
# Written by "make clusterctl-repository". Cluster API's own providers are known to clusterctl.
providers:
- name: elemental
  type: InfrastructureProvider
  url: file://$infrastructure/infrastructure-components.yaml
- name: elemental
  type: RuntimeExtensionProvider
  url: file://$extension/runtime-extension-components.yaml
EOF
}

main "$@"
