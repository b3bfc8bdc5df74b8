#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/tools/manifests.sh [kubevirt | kubevirt-operator | certmanager]
#
# Renders into bin/manifests what Cluster API and kwok are installed with, or KubeVirt, or what the operator of its next version
# is applied with, or cert-manager, from the module folders that the tools are built from. It is the whole kustomize output: the raw CRDs lack the labels of the provider contract.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/env.sh"
. "$here/catalog.sh"
. "$here/stamp.sh"
. "$here/lock.sh"

CAPI=sigs.k8s.io/cluster-api
KWOK=sigs.k8s.io/kwok
K3S=github.com/k3s-io/cluster-api-k3s
CERTMANAGER=github.com/cert-manager/cert-manager

main() {
  trap clean_up EXIT
  mkdir -p "$MANIFESTS_OUT/.tmp"
  case "${1:-}" in
    kubevirt) render_kubevirt kubevirt.yaml kubevirt-manifests; return ;;
    kubevirt-operator) render_kubevirt kubevirt-next.yaml kubevirt-manifests-next; return ;;
    certmanager) collect cert-manager-crds.yaml certmanager $CERTMANAGER deploy/crds; return ;;
  esac
  render core.yaml capi $CAPI core/config/default
  render bootstrap-kubeadm.yaml capi $CAPI bootstrap/kubeadm/config/default
  render control-plane-kubeadm.yaml capi $CAPI controlplane/kubeadm/config/default
  render kwok-stages.yaml kwok $KWOK kustomize/stage/pod/fast
  render kwok-node-stages.yaml kwok $KWOK kustomize/stage/node/fast kustomize/stage/node/heartbeat-with-lease
  collect k3s-crds.yaml k3s $K3S controlplane/config/crd/bases
}

# render FILE FOLDER MODULE KUSTOMIZATION... writes one file, unless it is current.
render() {
  local file=$1 folder=$2 module=$3 output="$MANIFESTS_OUT/$1" key
  shift 3
  key=$(hash_of "$TOOLS_SRC/kube/go.mod" "$TOOLS_SRC/$folder/go.mod" "$TOOLS_SRC/$folder/go.sum" "$TOOLS_SRC/manifests.sh")
  is_stamped "$output" "$key" && return
  "$TOOLS_SRC/build.sh" kubectl
  replace "$file" "$key" kustomize_all "$(module_folder "$folder" "$module")" "$@"
}

# render_kubevirt FILE TOOL writes what KubeVirt's own generators say, unless it is current.
render_kubevirt() {
  local key
  key=$(hash_of "$TOOLS_BIN/.stamps/$2" "$TOOLS_SRC/manifests.sh")
  is_stamped "$MANIFESTS_OUT/$1" "$key" && return
  replace "$1" "$key" "$TOOLS_BIN/$2"
}

# replace FILE KEY COMMAND... makes what a command prints the content of a file, whole.
replace() {
  local file=$1 key=$2
  shift 2
  lock "$file" "$MANIFESTS_OUT"
  TEMPORARY="$MANIFESTS_OUT/.tmp/$file.$$"
  "$@" >"$TEMPORARY"
  mv -f "$TEMPORARY" "$MANIFESTS_OUT/$file"
  set_stamp "$MANIFESTS_OUT/$file" "$key"
  unlock
  echo "Rendered bin/manifests/$file"
}

# collect FILE FOLDER MODULE DIRECTORY writes the CRDs of a module into one file, unless it is current. They are only
# validated with: nothing runs that would need their labels or webhooks.
collect() {
  local file=$1 output="$MANIFESTS_OUT/$1" key crd
  key=$(hash_of "$TOOLS_SRC/$2/go.mod" "$TOOLS_SRC/$2/go.sum" "$TOOLS_SRC/manifests.sh")
  is_stamped "$output" "$key" && return
  lock "$file" "$MANIFESTS_OUT"
  TEMPORARY="$MANIFESTS_OUT/.tmp/$file.$$"
  for crd in "$(module_folder "$2" "$3")/$4"/*.yaml; do
    echo "---"
    cat "$crd"
  done >"$TEMPORARY"
  mv -f "$TEMPORARY" "$output"
  set_stamp "$output" "$key"
  unlock
  echo "Wrote bin/manifests/$file"
}

# kustomize_all ROOT KUSTOMIZATION... prints the kustomizations as one stream of documents.
kustomize_all() {
  local root=$1 kustomization
  shift
  for kustomization in "$@"; do
    echo "---"
    "$TOOLS_BIN/kubectl" kustomize "$root/$kustomization"
  done
}

# module_folder FOLDER MODULE prints where the module's files are, downloading them if they are not there any more.
module_folder() {
  cd "$TOOLS_SRC/$1"
  go mod download "$2" >&2
  go list -m -f '{{.Dir}}' "$2"
}

clean_up() { rm -f "$MANIFESTS_OUT/.tmp/"*".$$"; }

main "$@"
