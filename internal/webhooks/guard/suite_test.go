// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks/guard"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	ctx   = context.Background()
	c     client.Client
	plane *apiserver.Server
	clock = clocktesting.NewFakePassiveClock(time.Now())
)

func TestGuard(t *testing.T) {
	specs.Run(t, "Guard")
}

// The guard runs as it does in the manager: the API server calls it, by the configuration that is
// installed in clusters.
var _ = BeforeSuite(func() {
	plane = apiserver.StartForSuite(apiserver.GuardWebhooks)
	c = plane.Client
	mgr := plane.NewManager()
	owners := &owner.Owners{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock}
	Expect((&guard.Guard{Owners: owners}).SetupWithManager(mgr)).To(Succeed())
	plane.Run(mgr)
})

func annotate(object client.Object, key string) {
	GinkgoHelper()
	base, _ := object.DeepCopyObject().(client.Object)
	object.SetAnnotations(map[string]string{key: ""})
	Expect(c.Patch(ctx, object, client.MergeFrom(base))).To(Succeed())
}
