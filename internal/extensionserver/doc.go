// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package extensionserver is the server of the runtime extension: it listens at a port of its own, knows Cluster API's managers by
// their client certificates where it is told an authority, and refuses bodies that are too large before they are read. What is
// answered is decided in package hooks.
package extensionserver
