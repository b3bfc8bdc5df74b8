// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// slowConnector does not answer for one cluster before ctx ends, and tells of the calls for the others.
type slowConnector struct {
	slow       client.ObjectKey
	held, rest chan client.ObjectKey
}

func (s *slowConnector) Connect(ctx context.Context, cluster client.ObjectKey) (*workload.Cluster, error) {
	if cluster != s.slow {
		s.rest <- cluster
		return nil, workload.ErrUnreachable
	}
	s.held <- cluster
	<-ctx.Done()
	return nil, ctx.Err()
}

var _ = Describe("A workload cluster that is slow to answer", func() {
	It("does not hold up the templates of another", func() {
		allowInPlaceUpdates()
		w, other := newWorld(), newWorld()
		template := ownertest.Template(w.namespace, "t2", imageA)
		second := ownertest.MachineDeployment(w.namespace, "md2", "c", "t2", 1)
		create(template, second)
		Expect(ownertest.Observe(ctx, c, second, 1)).To(Succeed())
		_, err := w.reconciler.Reconcile(ctx, requestFor(template))
		Expect(err).NotTo(HaveOccurred())
		w.patch(imageB)
		patch(template, func() { template.Spec.Template.Spec.OSVersionManagement = ownertest.OS(imageB) })

		const calls, workers = 10000, 2
		slow := &slowConnector{
			slow: client.ObjectKey{Namespace: w.namespace, Name: "c"}, held: make(chan client.ObjectKey, calls), rest: make(chan client.ObjectKey, calls),
		}
		w.reconciler.Outlook = &outlook.Viewer{Client: c, Workload: slow, Now: time.Now}
		mgr, err := plane.NewManager()
		Expect(err).NotTo(HaveOccurred())
		Expect(w.reconciler.SetupWithManager(mgr, controller.Options{MaxConcurrentReconciles: workers})).To(Succeed())
		stop, err := apiserver.Run(ctx, mgr)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stop)
		Eventually(slow.held).Should(Receive())

		other.patch(imageB)
		Eventually(slow.rest).Should(Receive(HaveField("Namespace", other.namespace)))
		Expect(slow.held).NotTo(Receive(), "one template of the slow one at a time")
	})
})
