// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"

	"sigs.k8s.io/cluster-api/test/framework"
)

// Variables of the configuration that specs use.
const (
	kubernetesVersion = "KUBERNETES_VERSION"
	endpointHost      = "CONTROL_PLANE_ENDPOINT_HOST"
	endpointPort      = "CONTROL_PLANE_ENDPOINT_PORT"
	// Images of the OS: the one installed first, the one to upgrade to, and one that does not come up healthy.
	imageInstalled = "ELEMENTAL_OS_IMAGE"
	imageUpgrade   = "ELEMENTAL_OS_IMAGE_UPGRADE"
	imageBad       = "ELEMENTAL_OS_IMAGE_BAD"
	// Commands that the person who runs the suite provides for operations on their machines.
	hostCommand     = "E2E_HOST_COMMAND"
	endpointCommand = "E2E_ENDPOINT_COMMAND"
)

// environment is what differs between kind, real nodes and the lab. Its methods fail the node that calls them.
type environment interface {
	// start creates the management cluster with all providers, writes clusterctl's repository, and completes the
	// variables.
	start(ctx context.Context) framework.ClusterProxy
	// prepare does what a Cluster requires, and returns the variables for that Cluster only.
	prepare(ctx context.Context, namespace, cluster string) map[string]string
	// switchOn makes a host register that is installed with an image and an agent's configuration.
	switchOn(ctx context.Context, cluster, name, image string, agentConfig []byte)
	// immovable says why no cluster can become self-hosted, "" if one can.
	immovable() string
	// install installs all providers in a cluster.
	install(ctx context.Context, into framework.ClusterProxy)
	// routeAPITo makes hosts reach the Elemental API of a cluster.
	routeAPITo(ctx context.Context, to framework.ClusterProxy)
	// resets reports whether hosts reset themselves, which the deletion of a Cluster waits for.
	resets() bool
}
