// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references tries on the lab what happens to the references from owners to templates: turned by
// hand or by a GitOps tool at the wrong moment, ten times a minute, or with somebody else's extension in
// the way. Cluster API 1.14 deletes Machines, or believes that they are up to date, where it was seen to
// do so without this provider; a spec is named after what was seen. Those of "Cluster API by itself" fail when an upgrade of
// Cluster API has mended what internal/capiworkaround works around.
package references
