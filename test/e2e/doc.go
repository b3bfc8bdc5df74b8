// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the provider from outside, on Cluster API's own test framework: clusters are generated from the
// templates of a release by clusterctl, and specs access the management cluster only through a
// framework.ClusterProxy.
//
// The same specs run in three environments. On the lab (-e2e.use-lab) the managers are processes and the hosts are
// simulated, with the real agent on them; it requires only Go. On real nodes (-e2e.use-nodes) the managers are Pods, and hosts and
// their clusters are in systemd-nspawn (test/nspawn). On kind, clusterctl installs the release into a
// cluster that is created for it, and hosts are real, powered on by a command that the person who runs the suite
// provides.
//
// It is a Go module of its own, because the framework brings more dependencies than the provider may have.
package e2e
