// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package extensionserver is the server of the runtime extension: it listens on a separate port, authenticates Cluster API's managers by
// their client certificates if an authority is configured, and rejects bodies that are too large before they are read. The handlers
// are in package hooks.
package extensionserver
