// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managedos looks up the images of the Elemental operator's ManagedOSVersions. They are read as they
// are, without the operator's types, and only when something names one: a management cluster without the
// operator pays nothing.
//
// A ManagedOSVersion is looked up once. The image goes into osVersionManagement beside the name, from where
// Machines, hosts and attempts have it; a template is pinned to it by an annotation, so that all hosts of a
// rollout get the same image, and a channel that changes a version under its name reboots nothing.
package managedos
