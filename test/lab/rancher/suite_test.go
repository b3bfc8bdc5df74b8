// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// period of the writes of an agent, so that many happen while something must not.
	period = 500 * time.Millisecond
	// calm is how long something must not happen.
	calm = 2 * time.Second
	look = 50 * time.Millisecond
)

func TestSuite(t *testing.T) {
	specs.Run(t, "Played Rancher")
}

var (
	server *apiserver.Server
	played *rancher.Rancher
)

var _ = BeforeSuite(func(ctx SpecContext) {
	server = apiserver.StartForSuite()
	Expect(rancher.Install(ctx, server.Client)).To(Succeed())
	var err error
	played, err = rancher.New(rancher.Options{Config: server.Config, ProbePeriod: period, EvictionRetry: period})
	Expect(err).NotTo(HaveOccurred())
	start(ctx)
	DeferCleanup(func() { Expect(played.Stop()).To(Succeed()) })
})

func start(ctx context.Context) {
	GinkgoHelper()
	Expect(played.Start(ctx)).To(Succeed())
}
