// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	ctx   = context.Background()
	plane *apiserver.Server
	c     client.Client
)

func TestCAPIWorkaround(t *testing.T) {
	specs.Run(t, "CAPI Workaround")
}

var _ = BeforeSuite(func() {
	plane = apiserver.StartForSuite()
	c = apiserver.NewIndexed(plane.Client, owner.AddIndexes)
})

// skews are how far the clock of the management cluster is ahead of ours.
var skews = []TableEntry{
	Entry("5 min behind", -5*time.Minute), Entry("1 min behind", -time.Minute), Entry("the same", time.Duration(0)),
	Entry("1 min ahead", time.Minute), Entry("8 h ahead", 8*time.Hour),
}

// ownersAt is a time away from now, at which objects written now were written that long ago.
func ownersAt(later time.Duration) *owner.Owners {
	return &owner.Owners{Client: c, Live: c, Clock: clocktesting.NewFakePassiveClock(time.Now().Add(later))}
}

func annotate(object client.Object, key, value string) {
	GinkgoHelper()
	Expect(c.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	object.SetAnnotations(map[string]string{key: value})
	Expect(c.Update(ctx, object)).To(Succeed())
}
