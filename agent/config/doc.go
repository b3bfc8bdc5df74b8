// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config reads the agent's configuration: how it reaches the Elemental API, and how it
// behaves. The keys are those of ElementalConfig in api/v1beta1, so that the registration's
// spec.config.elemental can be used as a host's configuration unchanged.
package config
