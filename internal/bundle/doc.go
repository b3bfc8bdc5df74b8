// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle writes an archive of what somebody needs who is asked for help with the upgrade of a Cluster: objects, Events and the
// manager's log. It reads no Secrets, and what it takes for a credential elsewhere is left out.
package bundle
