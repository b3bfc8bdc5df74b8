// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	count atomic.Int64
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

func newNamespace() string {
	name := fmt.Sprintf("owner-%d", count.Add(1))
	Expect(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	return name
}

func create(objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(c.Create(ctx, object)).To(Succeed())
	}
}

func observe(object client.Object, machines int32) {
	GinkgoHelper()
	Expect(ownertest.Observe(ctx, c, object, machines)).To(Succeed())
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
	r := &rollingOut{md: ownertest.MachineDeployment(newNamespace(), "md", "c", "bad", 3)}
	create(r.md)
	r.old, r.bad = ownertest.MachineSet(r.md, "ms-old", "old", 2), ownertest.MachineSet(r.md, "ms-bad", "bad", 1)
	create(r.old, r.bad)
	r.machine = ownertest.Machine(r.bad, "m")
	create(r.machine)
	observe(r.old, 2)
	observe(r.bad, 1)
	return r
}
