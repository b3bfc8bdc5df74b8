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
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
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

// writesFirst is somebody who writes to every object just before it is patched.
type writesFirst struct{ client.Client }

func (w writesFirst) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	fresh, _ := object.DeepCopyObject().(client.Object)
	if err := w.Get(ctx, client.ObjectKeyFromObject(object), fresh); err != nil {
		return err
	}
	fresh.SetLabels(map[string]string{"written": "meanwhile"})
	if err := w.Update(ctx, fresh); err != nil {
		return err
	}
	return w.Client.Patch(ctx, object, patch, options...)
}

// pausesFirst is somebody who pauses every object just before it is patched.
type pausesFirst struct{ client.Client }

func (p pausesFirst) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	fresh, _ := object.DeepCopyObject().(client.Object)
	if err := p.Get(ctx, client.ObjectKeyFromObject(object), fresh); err != nil {
		return err
	}
	fresh.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: "theirs"})
	if err := p.Update(ctx, fresh); err != nil {
		return err
	}
	return p.Client.Patch(ctx, object, patch, options...)
}
