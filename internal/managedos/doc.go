// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managedos looks up the images of the Elemental operator's ManagedOSVersions. They are read as
// unstructured objects, and only when an object names one, so the operator need not be installed.
//
// A ManagedOSVersion is looked up once. The image is written to osVersionManagement beside the name, from where
// it is copied to Machines, hosts and attempts. A template is pinned to it by an annotation, so that all hosts of a
// rollout get the same image, and no host reboots when a channel changes a version without renaming it.
package managedos
