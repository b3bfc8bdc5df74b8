# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: which tools exist, which module and main package each comes from, and how its version is stamped in.
# Versions are not repeated here: they are read from the go.mod of the tool's module.

# What 'make demo' runs.
DEMO_TOOLS="kubectl kube-apiserver kube-controller-manager kube-scheduler etcd capi-core capi-cabpk capi-kcp kwok"
LAB_TOOLS="$DEMO_TOOLS clusterctl"
DEV_TOOLS="controller-gen golangci-lint"
# For a lab with virtual machines; built only when asked for.
KUBEVIRT_TOOLS="kubevirt-manifests virt-api virt-controller"
# For an upgrade of KubeVirt by its own operator; built only when asked for. NAME-next is of the version to upgrade to.
KUBEVIRT_OPERATOR_TOOLS="virt-operator kubevirt-manifests-next virt-operator-next virt-api-next virt-controller-next"
# For a management cluster that clusterctl installs; built only when asked for.
CERTMANAGER_TOOLS="cert-manager"
# For hosts with a real kubelet (make test-nodes); built only when asked for.
NODES_TOOLS="kubelet kubeadm cri-ready"
# For a node with Services (make test-pods); built only when asked for.
PODS_TOOLS="kube-proxy coredns"
# For a control plane whose address kube-vip announces (make test-e2e-nodes); built only when asked for.
VIP_TOOLS="kube-vip"

# describe_tool NAME sets TOOL_MODULE (a folder beside this file), TOOL_PACKAGE and TOOL_LDFLAGS.
describe_tool() {
  TOOL_LDFLAGS="-s -w"
  case "$1" in
    etcd) TOOL_MODULE=kube TOOL_PACKAGE=go.etcd.io/etcd/server/v3 ;;
    kubectl | kube-apiserver | kube-controller-manager | kube-scheduler)
      TOOL_MODULE=kube TOOL_PACKAGE="k8s.io/kubernetes/cmd/$1"
      stamp_version k8s.io/component-base/version "$(pinned_version kube k8s.io/kubernetes)" ;;
    kubelet | kubeadm)
      TOOL_MODULE=kubelet TOOL_PACKAGE="k8s.io/kubernetes/cmd/$1"
      stamp_version k8s.io/component-base/version "$(pinned_version kubelet k8s.io/kubernetes)" ;;
    cri-ready) TOOL_MODULE=kubelet TOOL_PACKAGE=./cmd/cri-ready ;;
    kube-proxy)
      TOOL_MODULE=kubeproxy TOOL_PACKAGE=k8s.io/kubernetes/cmd/kube-proxy
      stamp_version k8s.io/component-base/version "$(pinned_version kubeproxy k8s.io/kubernetes)" ;;
    coredns) TOOL_MODULE=coredns TOOL_PACKAGE=./cmd/coredns ;;
    kube-vip) TOOL_MODULE=kubevip TOOL_PACKAGE=github.com/kube-vip/kube-vip ;;
    capi-core) describe_capi_tool core ;;
    capi-cabpk) describe_capi_tool bootstrap/kubeadm ;;
    capi-kcp) describe_capi_tool controlplane/kubeadm ;;
    clusterctl) describe_capi_tool cmd/clusterctl ;;
    kwok) TOOL_MODULE=kwok TOOL_PACKAGE=sigs.k8s.io/kwok/cmd/kwok ;;
    kubevirt-manifests) TOOL_MODULE=kubevirt TOOL_PACKAGE=./cmd/kubevirt-manifests ;;
    virt-api | virt-controller | virt-operator) describe_kubevirt_tool kubevirt "$1" ;;
    kubevirt-manifests-next) TOOL_MODULE=kubevirtnext TOOL_PACKAGE=./cmd/kubevirt-manifests ;;
    virt-api-next | virt-controller-next | virt-operator-next) describe_kubevirt_tool kubevirtnext "${1%-next}" ;;
    cert-manager) TOOL_MODULE=certmanager TOOL_PACKAGE=./cmd/cert-manager ;;
    controller-gen)
      TOOL_MODULE=dev TOOL_PACKAGE=sigs.k8s.io/controller-tools/cmd/controller-gen
      add_ldflag sigs.k8s.io/controller-tools/pkg/version.version "$(pinned_version dev sigs.k8s.io/controller-tools)" ;;
    golangci-lint)
      # golangci-lint with the linter of the conventions of Kubernetes' APIs in it.
      TOOL_MODULE=dev TOOL_PACKAGE=sigs.k8s.io/kube-api-linter/cmd/golangci-lint-kube-api-linter ;;
    *)
      echo "hack/tools: no tool is called \"$1\"; known are: demo lab dev kubevirt kubevirt-operator certmanager nodes pods vip all $LAB_TOOLS $DEV_TOOLS $KUBEVIRT_TOOLS $KUBEVIRT_OPERATOR_TOOLS $CERTMANAGER_TOOLS $NODES_TOOLS $PODS_TOOLS $VIP_TOOLS" >&2
      return 1 ;;
  esac
}

describe_capi_tool() {
  TOOL_MODULE=capi TOOL_PACKAGE="sigs.k8s.io/cluster-api/$1"
  stamp_version sigs.k8s.io/cluster-api/version "$(pinned_version capi sigs.k8s.io/cluster-api)"
}

# describe_kubevirt_tool FOLDER COMMAND
describe_kubevirt_tool() {
  TOOL_MODULE=$1 TOOL_PACKAGE="kubevirt.io/kubevirt/cmd/$2"
  stamp_version kubevirt.io/client-go/version "$(pinned_version "$1" kubevirt.io/kubevirt)"
}

# stamp_version PACKAGE VERSION fills in the variables that Kubernetes and Cluster API keep their version in. The
# commit and the date are fixed, so that equal inputs give equal binaries.
stamp_version() {
  local version=${2#v}
  add_ldflag "$1.gitVersion" "v$version"
  add_ldflag "$1.gitMajor" "${version%%.*}"
  version=${version#*.}
  add_ldflag "$1.gitMinor" "${version%%.*}"
  add_ldflag "$1.gitCommit" module
  add_ldflag "$1.gitTreeState" clean
  add_ldflag "$1.buildDate" 1970-01-01T00:00:00Z
}

add_ldflag() { TOOL_LDFLAGS="$TOOL_LDFLAGS -X $1=$2"; }

# pinned_version FOLDER MODULE prints the version that FOLDER/go.mod requires of MODULE.
pinned_version() { awk -v module="$2" '$1 == module && $2 ~ /^v/ { print $2; exit }' "$TOOLS_SRC/$1/go.mod"; }

# expand_tools NAME... prints the tools that the names and group names stand for.
expand_tools() {
  local name
  for name in "$@"; do
    case "$name" in
      demo) echo "$DEMO_TOOLS" ;;
      lab) echo "$LAB_TOOLS" ;;
      dev) echo "$DEV_TOOLS" ;;
      kubevirt) echo "$KUBEVIRT_TOOLS" ;;
      kubevirt-operator) echo "$KUBEVIRT_OPERATOR_TOOLS" ;;
      certmanager) echo "$CERTMANAGER_TOOLS" ;;
      nodes) echo "$NODES_TOOLS" ;;
      pods) echo "$PODS_TOOLS" ;;
      vip) echo "$VIP_TOOLS" ;;
      all) echo "$LAB_TOOLS $DEV_TOOLS $KUBEVIRT_TOOLS $KUBEVIRT_OPERATOR_TOOLS $CERTMANAGER_TOOLS $NODES_TOOLS $PODS_TOOLS $VIP_TOOLS" ;;
      *) echo "$name" ;;
    esac
  done
}
