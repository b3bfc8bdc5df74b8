// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image is the image registry of the lab, over HTTPS with a certificate authority of its own,
// and the tiny OS images in it. What a host does with an image - boot, fail its assessment, not boot at
// all, be slow, be killed while it is written - is asked for by labels of the image; they are the
// constants of package source.
//
// The registry keeps a log of all requests, so that a test can tell who asked for which image.
package image
