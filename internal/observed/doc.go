// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observed measures time by the clock of this process alone. Kubelets, API servers and the controllers of other clusters write
// times by clocks of their own, which may be hours off. Such a time is compared with nothing but its own former value: that it changed is
// what is known, and when that was is when it was seen.
package observed
