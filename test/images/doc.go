// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images builds the OS images and the live media of the Makefile with buildah, and inspects them. The Makefile,
// all Dockerfiles, what they run, and the elemental CLI are real. What needs a network is replaced by the build
// arguments that exist for sites: the base image is built from this machine's programs, with a kernel and a dracut that
// only write files; there are no packages; the builder's Go returns an agent that was built before; and a server of the
// test serves Kubernetes' releases, with checksums, as scripts.
//
// It requires root, buildah, Debian's packages of docs/testing.md and ELEMENTAL_BIN, the CLI of the elemental toolkit
// v2.3.2.
package images
