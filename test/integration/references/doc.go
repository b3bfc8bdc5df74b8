// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references tests on the lab what happens when the references from owners to templates are changed: by hand or by a
// GitOps tool, at the wrong moment, in the middle of a patched template's rollout, or with another extension registered. In these situations
// Cluster API 1.14 was observed to delete Machines without this provider, or to consider them up to date; the specs are
// named after these findings. Those of "Cluster API by itself" fail when an upgrade of Cluster API has fixed what
// internal/capiworkaround works around.
package references
