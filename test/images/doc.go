// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images builds the OS images and the live media of the Makefile with buildah, and looks into them. Real are the Makefile, all
// Dockerfiles, what they run, and the elemental CLI. What cannot be had without a network is swapped by the arguments that are there
// for sites: the base image is made of this machine's programs, with a kernel and a dracut that write no more than files; there are no packages;
// the builder's Go hands out an agent that was built before; and a server of the test has Kubernetes' releases, with checksums, as scripts.
//
// It needs root, buildah, Debian's packages of docs/testing.md and ELEMENTAL_BIN, the CLI of the elemental toolkit v2.3.2.
package images
