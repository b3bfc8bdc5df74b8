// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig reads the kubeconfigs of workload clusters, and refuses those that name local files or programs.
//
// Anyone with write access to Secrets in a namespace chooses the server that the manager connects to. A kubeconfig that names a
// file, such as the token of the manager's service account, would make the manager send its content to that server.
package kubeconfig
