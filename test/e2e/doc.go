// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e is the provider seen from outside, on Cluster API's own test framework: clusters come from the templates of a
// release through clusterctl, and all that specs know of the management cluster is a framework.ClusterProxy.
//
// The same specs run in two environments. On the lab (-e2e.use-lab) the managers are processes and the hosts are played, with
// the real agent on them; nothing but Go is needed. On kind, clusterctl installs the release into a cluster that is made for
// it, and hosts are real ones, switched on by a command of the person that runs the suite.
//
// It is a module of its own: the framework brings more dependencies than the provider may have.
package e2e
