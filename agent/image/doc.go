// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image fetches an OS image before anything on the host is changed: it resolves a reference over verified TLS to the digest of the
// manifest for this platform, downloads the manifest and its blobs into an OCI layout, verifies every digest, and serves the layout on the
// loopback interface to the elemental CLI, which on its own would pull again, by tag, without verifying any certificate.
//
// If there is no disk to store an image on, it is relayed instead: see Store.Relay.
//
// One directory per image, named by the digest's hex. A blob appears under its name only when it is
// complete and verified, so an interrupted download resumes with the next blob.
package image
