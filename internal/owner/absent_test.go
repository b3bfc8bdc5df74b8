// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// uninstalled counts the lists of KubeadmControlPlanes, whose CRD is not installed.
type uninstalled struct {
	client.Client
	asked int
}

func (u *uninstalled) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, isOne := list.(*controlplanev1.KubeadmControlPlaneList); isOne {
		u.asked++
		return &meta.NoKindMatchError{}
	}
	return u.Client.List(ctx, list, options...)
}

// The watch of WatchControlPlanes marks a kind for the whole process, and the specs of it do not run at the same time.
var _ = It("A kind whose CRD is not installed is asked for every few seconds only, until it is watched", Serial, func() {
	defer owner.ForgetWatchedKinds()()
	clock, asked := clocktesting.NewFakePassiveClock(time.Now()), &uninstalled{Client: c}
	owners := &owner.Owners{Client: asked, Live: c, Clock: clock}
	namespace := plane.NewNamespace(ctx)
	for range 3 {
		Expect(owners.List(ctx, namespace, "t")).To(BeEmpty())
	}
	Expect(asked.asked).To(Equal(1))
	clock.SetTime(clock.Now().Add(time.Minute))
	Expect(owners.List(ctx, namespace, "t")).To(BeEmpty())
	Expect(asked.asked).To(Equal(2))
	owner.NoteWatched(owner.KubeadmControlPlaneKind)
	Expect(owners.List(ctx, namespace, "t")).To(BeEmpty())
	Expect(asked.asked).To(Equal(3))
})
