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
	// Images of the OS: installed on a host at first, the one to upgrade to, and one that does not come up healthy.
	imageInstalled = "ELEMENTAL_OS_IMAGE"
	imageUpgrade   = "ELEMENTAL_OS_IMAGE_UPGRADE"
	imageBad       = "ELEMENTAL_OS_IMAGE_BAD"
	// Commands of the person that runs the suite, for what the suite cannot know of their machines.
	hostCommand     = "E2E_HOST_COMMAND"
	endpointCommand = "E2E_ENDPOINT_COMMAND"
)

// environment is where the suite runs: all that differs between kind and the lab. Where it fails, so does the node that calls it.
type environment interface {
	// start makes the management cluster with all providers, writes clusterctl's repository, and completes the variables.
	start(ctx context.Context) framework.ClusterProxy
	// prepare does what has to be there before a Cluster is made, and returns the variables of that Cluster alone.
	prepare(ctx context.Context, namespace, cluster string) map[string]string
	// switchOn has a host register that is installed with an image and an agent's configuration.
	switchOn(ctx context.Context, cluster, name, image string, agentConfig []byte)
	// runsPods says whether the management cluster, and workload clusters, run Pods for real.
	runsPods() bool
}
