// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/kinds"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	ctx   = context.Background()
	plane *apiserver.Server
	c     client.Client
)

func TestClusterUpgrade(t *testing.T) {
	specs.Run(t, "Cluster upgrade")
}

var _ = BeforeSuite(func() {
	plane = apiserver.StartForSuite()
	c = apiserver.NewIndexed(plane.Client, clusterview.AddIndexes)
	Expect(kinds.Install(ctx, plane.Client)).To(Succeed())
})
