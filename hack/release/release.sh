#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: RELEASE_TAG=v0.8.0 hack/release/release.sh DIRECTORY
#
# Writes the assets of a release, as clusterctl's provider contract names them, its bill of materials (sbom.spdx.json), and
# the checksums of all of them (SHA256SUMS). They are made from the files of the repository, and are the same for the same
# commit and Go. MANAGER_IMAGE is the image of the Deployment, without a tag; SOURCE_DATE_EPOCH is when the release was
# made, by default when its commit was.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

KUBECTL=${KUBECTL:-bin/tools/kubectl}
MANAGER_IMAGE=${MANAGER_IMAGE:-ghcr.io/rancher-sandbox/cluster-api-provider-elemental}
# Cluster API's contract that is released, see metadata.yaml.
CONTRACT=v1beta2
# The flavor that clusterctl takes when none is named.
DEFAULT_FLAVOR=kubeadm

main() {
  [ $# -eq 1 ] || { sed -n 's/^# \{0,1\}//; 5,10p' "${BASH_SOURCE[0]}" >&2; exit 2; }
  output=$1
  check_tag
  mkdir -p "$output"
  rm -f "$output"/*.yaml "$output"/{sbom.spdx.json,SHA256SUMS}
  cp metadata.yaml "$output/"
  render_infrastructure
  "$KUBECTL" kustomize config/extension >"$output/runtime-extension-components.yaml"
  cp templates/cluster-template-*.yaml templates/clusterclass-*.yaml "$output/"
  cp "templates/cluster-template-$DEFAULT_FLAVOR.yaml" "$output/cluster-template.yaml"
  write_sbom
  write_checksums
  echo "Wrote release $RELEASE_TAG into $output"
}

# check_tag fails for a tag that clusterctl would refuse, or would not find in metadata.yaml.
check_tag() {
  local series
  if [[ ! ${RELEASE_TAG:-} =~ ^v([0-9]+)\.([0-9]+)\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
    fail "RELEASE_TAG is \"${RELEASE_TAG:-}\": set it to a semantic version with a leading v, as v0.8.0"
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

# write_sbom writes what manager and agent are built from.
write_sbom() {
  local created=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || true)}
  [ -n "$created" ] || fail "this is no git repository: set SOURCE_DATE_EPOCH to when the release is made, in seconds since 1970"
  go run ./hack/sbom -version "$RELEASE_TAG" -created "$created" >"$output/sbom.spdx.json"
}

# write_checksums lists the assets so that "sha256sum --check SHA256SUMS" looks at all of them.
write_checksums() {
  (
    cd "$output"
    LC_ALL=C
    if command -v sha256sum >/dev/null; then sha256sum -- *.yaml *.json; else shasum -a 256 -- *.yaml *.json; fi >SHA256SUMS
  )
}

fail() {
  echo "hack/release: $*" >&2
  exit 1
}

main "$@"
