// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config reads the agent's configuration: how it reaches the Elemental API, and how it
// behaves. The keys are those of ElementalConfig in api/v1beta1: hack/print-agent-config.sh puts a host's
// configuration together from spec and status of an ElementalRegistration and its token.
package config
