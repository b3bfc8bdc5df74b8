// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	ctx   = context.Background()
	plane *apiserver.Server
	c     client.Client
)

func TestOwner(t *testing.T) {
	specs.Run(t, "Owner")
}

var _ = BeforeSuite(func() {
	plane = apiserver.StartForSuite()
	c = apiserver.NewIndexed(plane.Client, owner.AddIndexes)
})

// ownersAt has a clock that is ahead by later, so that objects written now appear to be that old.
func ownersAt(later time.Duration) *owner.Owners {
	return &owner.Owners{Client: c, Live: c, Clock: clocktesting.NewFakePassiveClock(time.Now().Add(later))}
}

const longAfter = time.Minute

// rollingOut is a MachineDeployment "md" of three in the middle of a rollout from template "old" to
// "bad", with one Machine "m" on "bad".
type rollingOut struct {
	md       *clusterv1.MachineDeployment
	old, bad *clusterv1.MachineSet
	machine  *clusterv1.Machine
}

func newRollingOut() *rollingOut {
	GinkgoHelper()
	r := &rollingOut{md: ownertest.MachineDeployment(plane.NewNamespace(ctx), "md", "c", "bad", 3)}
	plane.Create(ctx, r.md)
	r.old, r.bad = ownertest.MachineSet(r.md, "ms-old", "old", 2), ownertest.MachineSet(r.md, "ms-bad", "bad", 1)
	plane.Create(ctx, r.old, r.bad)
	r.machine = ownertest.Machine(r.bad, "m")
	plane.Create(ctx, r.machine)
	ownertest.Observe(ctx, c, r.old, 2)
	ownertest.Observe(ctx, c, r.bad, 1)
	return r
}
