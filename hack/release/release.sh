#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: RELEASE_TAG=v0.5.0 hack/release/release.sh DIRECTORY
#
# Writes the assets of a release, as clusterctl's provider contract names them. They are made from config/, templates/ and
# metadata.yaml alone. MANAGER_IMAGE is the image of the Deployment, without a tag.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

KUBECTL=${KUBECTL:-bin/tools/kubectl}
MANAGER_IMAGE=${MANAGER_IMAGE:-ghcr.io/rancher-sandbox/cluster-api-provider-elemental}
# Cluster API's contract that is released, see metadata.yaml.
CONTRACT=v1beta2
# The flavor that clusterctl takes when none is named.
DEFAULT_FLAVOR=kubeadm

main() {
  [ $# -eq 1 ] || { sed -n 's/^# \{0,1\}//; 5,8p' "${BASH_SOURCE[0]}" >&2; exit 2; }
  output=$1
  check_tag
  mkdir -p "$output"
  rm -f "$output"/*.yaml
  cp metadata.yaml "$output/"
  render_infrastructure
  "$KUBECTL" kustomize config/extension >"$output/runtime-extension-components.yaml"
  cp templates/cluster-template-*.yaml templates/clusterclass-*.yaml "$output/"
  cp "templates/cluster-template-$DEFAULT_FLAVOR.yaml" "$output/cluster-template.yaml"
  echo "Wrote release $RELEASE_TAG into $output"
}

# check_tag fails for a tag that clusterctl would refuse, or would not find in metadata.yaml.
check_tag() {
  local series
  if [[ ! ${RELEASE_TAG:-} =~ ^v([0-9]+)\.([0-9]+)\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
    fail "RELEASE_TAG is \"${RELEASE_TAG:-}\": set it to a semantic version with a leading v, as v0.5.0"
  fi
  series="${BASH_REMATCH[1]} ${BASH_REMATCH[2]} $CONTRACT"
  awk '$1 == "-" && $2 == "major:" { major = $3 } $1 == "minor:" { minor = $2 } $1 == "contract:" { print major, minor, $2 }' \
    metadata.yaml | grep -qxF "$series" ||
    fail "metadata.yaml has no release series for $RELEASE_TAG with contract $CONTRACT: add it"
}

# render_infrastructure renders config/default with the image of this release. The overlay has to lie inside the
# repository: kustomize does not load what is above it by an absolute path.
render_infrastructure() {
  overlay=$(mktemp -d "$PWD/.release.XXXXXX")
  trap 'rm -rf "$overlay"' EXIT
  cat >"$overlay/kustomization.yaml" <<EOF
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ../config/default
images:
- name: ghcr.io/rancher-sandbox/cluster-api-provider-elemental
  newName: $MANAGER_IMAGE
  newTag: $RELEASE_TAG
EOF
  "$KUBECTL" kustomize "$overlay" >"$output/infrastructure-components.yaml"
}

fail() {
  echo "hack/release: $*" >&2
  exit 1
}

main "$@"
