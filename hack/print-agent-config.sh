#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/print-agent-config.sh -n NAMESPACE -r REGISTRATION
#
# Prints the configuration of elemental-agent for hosts that register through an ElementalRegistration. Put it into the
# image or onto the host as /etc/elemental/agent/config.yaml. It holds the registration token: treat it as a secret.
#
# Needs kubectl (or what $KUBECTL names), pointed at the management cluster.
set -euo pipefail

KUBECTL=${KUBECTL:-kubectl}

main() {
  parse "$@"
  local manifest config
  manifest=$("$KUBECTL" get elementalregistrations.infrastructure.cluster.x-k8s.io "$registration" \
    --namespace "$namespace" --output yaml)
  config=$(echo "$manifest" | agent_config)
  require "$config" uri
  require "$config" token
  echo "$config"
}

parse() {
  namespace="" registration=""
  while getopts n:r:h option; do
    case "$option" in
      n) namespace=$OPTARG ;;
      r) registration=$OPTARG ;;
      h) usage && exit 0 ;;
      *) usage >&2 && exit 2 ;;
    esac
  done
  if [ -z "$namespace" ] || [ -z "$registration" ]; then
    usage >&2
    exit 2
  fi
}

usage() { echo "usage: $0 -n NAMESPACE -r REGISTRATION"; }

# agent_config prints registration and agent of spec.config.elemental, as they stand in kubectl's YAML: two spaces a level.
agent_config() {
  awk '
    /^[^ ]/         { spec = ($0 == "spec:"); config = elemental = part = 0; next }
    /^  [^ -]/      { config = spec && ($0 == "  config:"); elemental = part = 0; next }
    /^    [^ -]/    { elemental = config && ($0 == "    elemental:"); part = 0; next }
    /^      [^ -]/  { part = elemental && /^      (registration|agent):/ }
    part            { print substr($0, 7) }'
}

# require CONFIG KEY fails unless the controller has filled in the key.
require() {
  echo "$1" | grep -q "^  $2: ." && return
  echo "$0: ElementalRegistration $namespace/$registration has no spec.config.elemental.registration.$2 yet;" \
    "its condition TokenReady says why: $KUBECTL describe elementalregistration --namespace $namespace $registration" >&2
  exit 1
}

main "$@"
