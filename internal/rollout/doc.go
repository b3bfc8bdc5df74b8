// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout names and identifies what a rollout consists of: the content of a template, the clone
// that carries it to Cluster API, the options it runs with, and the attempt on each host. Everything here
// is a pure function, so that two replicas, or one before and after a restart, arrive at the same names.
package rollout
