#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/print-agent-config.sh -n NAMESPACE -r REGISTRATION
#
# Prints the configuration of elemental-agent for hosts that register through an ElementalRegistration. Put it into the
# image or onto the host as /etc/elemental/agent/config.yaml. It holds the registration token: treat it as a secret.
#
# Needs kubectl (or what $KUBECTL names), pointed at the management cluster, as somebody who may read the Secret with the token.
set -euo pipefail

KUBECTL=${KUBECTL:-kubectl}

main() {
  parse "$@"
  local manifest secret token
  manifest=$("$KUBECTL" get elementalregistrations.infrastructure.cluster.x-k8s.io "$registration" \
    --namespace "$namespace" --output yaml)
  require "$manifest" uri
  require "$manifest" tokenSecretName
  secret=$(echo "$manifest" | status 'tokenSecretName' | cut -d ' ' -f 4)
  token=$("$KUBECTL" get secret "$secret" --namespace "$namespace" --output 'go-template={{ .data.token | base64decode }}')
  echo "registration:"
  echo "$manifest" | status 'uri|caCert'
  echo "  token: $token"
  echo "$manifest" | agent
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

# status PARTS prints parts of status, as they stand in kubectl's YAML: two spaces a level.
status() {
  awk -v parts="$1" '
    /^[^ ]/    { status = ($0 == "status:"); part = 0; next }
    /^  [^ -]/ { part = status && $0 ~ ("^  (" parts "):") }
    part       { print }'
}

# agent prints spec.config.elemental.agent.
agent() {
  awk '
    /^[^ ]/         { spec = ($0 == "spec:"); config = elemental = part = 0; next }
    /^  [^ -]/      { config = spec && ($0 == "  config:"); elemental = part = 0; next }
    /^    [^ -]/    { elemental = config && ($0 == "    elemental:"); part = 0; next }
    /^      [^ -]/  { part = elemental && /^      agent:/ }
    part            { print substr($0, 7) }'
}

# require MANIFEST FIELD fails unless the controller has filled in the field of status.
require() {
  [ -n "$(echo "$1" | status "$2")" ] && return
  echo "$0: ElementalRegistration $namespace/$registration has no status.$2 yet;" \
    "its condition TokenReady says why: $KUBECTL describe elementalregistration --namespace $namespace $registration" >&2
  exit 1
}

main "$@"
