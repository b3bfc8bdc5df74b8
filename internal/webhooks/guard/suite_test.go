// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks/guard"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	ctx   = context.Background()
	c     client.Client
	plane *apiserver.Server
	count atomic.Int64
)

func TestGuard(t *testing.T) {
	specs.Run(t, "Guard")
}

// The guard runs as it does in the manager: the API server calls it, by the configuration that is
// installed in clusters.
var _ = BeforeSuite(func() {
	plane = apiserver.StartForSuite(apiserver.GuardWebhooks)
	c = plane.Client
	mgr, err := plane.NewManager()
	Expect(err).NotTo(HaveOccurred())
	owners := &owner.Owners{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}}
	Expect((&guard.Guard{Owners: owners}).SetupWithManager(mgr)).To(Succeed())
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	DeferCleanup(func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})
	Eventually(func() error { return mgr.GetWebhookServer().StartedChecker()(nil) }).Should(Succeed())
})

func newNamespace() string {
	name := fmt.Sprintf("guard-%d", count.Add(1))
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

func annotate(object client.Object, key string) {
	GinkgoHelper()
	base, _ := object.DeepCopyObject().(client.Object)
	object.SetAnnotations(map[string]string{key: ""})
	Expect(c.Patch(ctx, object, client.MergeFrom(base))).To(Succeed())
}
