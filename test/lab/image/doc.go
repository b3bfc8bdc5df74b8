// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image is the image registry of the lab, over HTTPS with its own CA, and builds the tiny OS
// images in it. Labels of an image determine what a host does with it - boot, fail its assessment, not
// boot at all, be slow, be killed while it is written -; they are the constants of package source.
//
// The registry logs all requests, so that a test can check which client pulled which image.
package image
