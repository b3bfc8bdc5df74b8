// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("A workload cluster that is slow to answer", func() {
	It("does not hold up the templates of another", func() {
		allowInPlaceUpdates()
		w, other := newWorld(), newWorld()
		template := ownertest.Template(w.namespace, "t2", imageA)
		second := ownertest.MachineDeployment(w.namespace, "md2", "c", "t2", 1)
		plane.Create(ctx, template, second)
		ownertest.Observe(ctx, c, second, 1)
		_, err := w.reconciler.Reconcile(ctx, requestFor(template))
		Expect(err).NotTo(HaveOccurred())
		w.patch(imageB)
		apiserver.Change(ctx, c, template, func() { template.Spec.Template.Spec.OSVersionManagement = ownertest.OS(imageB) })

		const workers = 2
		slow := apiserver.NewSlowClusters(client.ObjectKey{Namespace: w.namespace, Name: "c"})
		w.reconciler.Outlook = &outlook.Viewer{Client: c, Workload: slow, Now: time.Now}
		mgr := plane.NewManager()
		Expect(w.reconciler.SetupWithManager(mgr, controller.Options{MaxConcurrentReconciles: workers})).To(Succeed())
		plane.Run(mgr)
		Eventually(slow.Held).Should(Receive())

		other.patch(imageB)
		Eventually(slow.Rest).Should(Receive(HaveField("Namespace", other.namespace)))
		Expect(slow.Held).NotTo(Receive(), "one template of the slow one at a time")
	})
})
