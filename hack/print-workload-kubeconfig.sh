#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/print-workload-kubeconfig.sh [DURATION]
#
# Makes the account of config/workload in a workload cluster and prints a kubeconfig of it, by which Cluster API and this
# provider can reach the cluster in place of an administrator. Its token is good for DURATION. Default: 8760h, a year.
#
# Needs kubectl (or what $KUBECTL names), pointed at the workload cluster, as an administrator of it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

KUBECTL=${KUBECTL:-kubectl}
ACCOUNT=cluster-api-elemental

main() {
  case "${1:-}" in -h | --help) sed -n 's/^# \{0,1\}//; 5,10p' "${BASH_SOURCE[0]}" && exit 0 ;; esac
  local server authority token
  server=$(view '{.clusters[0].cluster.server}')
  authority=$(view '{.clusters[0].cluster.certificate-authority-data}')
  "$KUBECTL" apply --kustomize "$root/config/workload" >&2
  token=$("$KUBECTL" --namespace kube-system create token "$ACCOUNT" --duration "${1:-8760h}")
  kubeconfig
}

# view prints a field of the kubeconfig that kubectl uses now.
view() { "$KUBECTL" config view --minify --flatten --raw --output "jsonpath=$1"; }

kubeconfig() {
  cat <<END
apiVersion: v1
kind: Config
clusters:
- name: workload
  cluster:
    server: $server
    certificate-authority-data: $authority
users:
- name: $ACCOUNT
  user:
    token: $token
contexts:
- name: workload
  context:
    cluster: workload
    user: $ACCOUNT
current-context: workload
END
}

main "$@"
