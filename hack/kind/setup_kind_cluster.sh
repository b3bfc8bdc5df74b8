#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/kind/setup_kind_cluster.sh [HOST]
#
# Makes a management cluster with kind and installs Cluster API and this provider, built from this checkout, with
# clusterctl. HOST is the IP address of this machine under which hosts reach it. Default: its first one.
#
# Needs docker and kind; clusterctl and kubectl are built. Use another cluster name with KIND_CLUSTER. Run again, it brings
# the manager of the checkout into the same cluster.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

KIND_CLUSTER=${KIND_CLUSTER:-elemental}
# Tag of the image and of the local release.
export RELEASE_TAG=${RELEASE_TAG:-v0.8.0}
export MANAGER_IMAGE=${MANAGER_IMAGE:-ghcr.io/rancher-sandbox/cluster-api-provider-elemental}
API_PORT=30009

main() {
  case "${1:-}" in -h | --help) sed -n 's/^# \{0,1\}//; 5,11p' "${BASH_SOURCE[0]}" && exit 0 ;; esac
  require docker
  require kind
  hack/tools/build.sh kubectl clusterctl
  create_cluster
  load_image
  install_providers "${1:-$(first_address)}"
  register
}

require() { command -v "$1" >/dev/null || { echo "$0: $1 is not installed" >&2 && exit 1; }; }

create_cluster() {
  kind get clusters 2>/dev/null | grep -qx "$KIND_CLUSTER" || kind create cluster --name "$KIND_CLUSTER" --config hack/kind/cluster.yaml --wait 5m
  kind export kubeconfig --name "$KIND_CLUSTER"
}

# load_image brings the manager's image into the cluster, where its Deployment finds it without a registry.
load_image() {
  make --no-print-directory docker-build
  kind load docker-image --name "$KIND_CLUSTER" "$MANAGER_IMAGE:$RELEASE_TAG"
}

install_providers() {
  make --no-print-directory clusterctl-repository
  export EXP_RUNTIME_SDK=true EXP_IN_PLACE_UPDATES=true CLUSTER_TOPOLOGY=true
  export ELEMENTAL_API_ENDPOINT="$1:$API_PORT" ELEMENTAL_API_IP="$1"
  export ELEMENTAL_API_SERVICE_TYPE=NodePort ELEMENTAL_API_NODE_PORT="$API_PORT"
  local init=(bin/tools/clusterctl --config out/repository/clusterctl.yaml init --wait-providers) capi
  # Cluster API of the release that this checkout is tested with, which is clusterctl's; its newest may be another.
  capi=$(bin/tools/clusterctl version --output short)
  installed capi-system cluster-api || "${init[@]}" --core "cluster-api:$capi" --bootstrap "kubeadm:$capi" --control-plane "kubeadm:$capi"
  # clusterctl refuses a provider that is there. Then the image is all that is new; other manifests need a new cluster.
  if installed elemental-system infrastructure-elemental; then
    bin/tools/kubectl --namespace elemental-system rollout restart deployment/elemental-controller-manager
  else
    "${init[@]}" --infrastructure elemental
  fi
  installed elemental-system runtime-extension-elemental || "${init[@]}" --runtime-extension elemental
}

# installed says whether clusterctl has installed a provider into a namespace.
installed() {
  bin/tools/kubectl --namespace "$1" get providers.clusterctl.cluster.x-k8s.io "$2" >/dev/null 2>&1
}

# register makes a door for hosts in the namespace default, which opts in to upgrades in place.
register() {
  bin/tools/kubectl label --overwrite namespace default infrastructure.cluster.x-k8s.io/elemental-in-place-upgrades=enabled
  bin/tools/kubectl apply --filename hack/kind/registration.yaml
  echo "Ready. The configuration of the agents: hack/print-agent-config.sh -n default -r my-registration"
}

first_address() { hostname -I | awk '{ print $1 }'; }

main "$@"
