// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// rests waits until what was written has come back as an event, so that nothing but what follows wakes anybody.
func rests(machine *infrav1.ElementalMachine) {
	GinkgoHelper()
	Eventually(settled(machine)).WithPolling(apiserver.Settling).Should(BeTrue())
}

// What each spec waits for comes after it was reported to be missing, and nothing else does: no other event helps.
var _ = Describe("An ElementalMachine that waits", func() {
	var w *world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	waitsForHost := apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.MissingAvailableHostsReason)
	hasHost := apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason)

	DescribeTable("for a host takes one",
		func(ctx SpecContext, host func(*infrav1.ElementalHost), machine func(*infrav1.ElementalMachine), annotation string) {
			free := w.host(ctx, "h1", host)
			Eventually(func() (*infrav1.ElementalHost, error) { // its report is no event for the machine any more
				seen := &infrav1.ElementalHost{}
				return seen, cached.Get(ctx, client.ObjectKeyFromObject(free), seen)
			}).Should(HaveField("Status.Installed", BeTrue()))
			waiting := w.machine(ctx, "m1", machine)
			Eventually(server.Stored(ctx, waiting)).Should(waitsForHost)
			rests(waiting)
			apiserver.Change(ctx, server.Client, free, func() { delete(free.Annotations, annotation) })
			Eventually(server.Stored(ctx, waiting)).Should(hasHost)
		},
		Entry("that was paused",
			func(h *infrav1.ElementalHost) { h.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} },
			func(*infrav1.ElementalMachine) {}, clusterv1.PausedAnnotation),
		Entry("whose label somebody vouches for",
			func(h *infrav1.ElementalHost) {
				h.Labels["role"] = "gpu"
				h.Annotations = map[string]string{infrav1.ProposedLabelsAnnotation: "role"}
			},
			func(m *infrav1.ElementalMachine) {
				m.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"role": "gpu"}}
			}, infrav1.ProposedLabelsAnnotation),
	)

	It("for a host without a label takes one that only proposes it", func(ctx SpecContext) {
		machine := w.machine(ctx, "m1", func(m *infrav1.ElementalMachine) {
			m.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "role", Operator: metav1.LabelSelectorOpDoesNotExist},
			}}
		})
		Eventually(server.Stored(ctx, machine)).Should(waitsForHost)
		rests(machine)
		w.host(ctx, "h1", func(h *infrav1.ElementalHost) {
			h.Labels["role"] = "gpu"
			h.Annotations = map[string]string{infrav1.ProposedLabelsAnnotation: "role"}
		})
		Eventually(server.Stored(ctx, machine)).Should(hasHost)
	})

	It("for its Cluster says what the Cluster lacks once it is there", func(ctx SpecContext) {
		Expect(server.Client.Delete(ctx, w.cluster)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(cached.Get(ctx, client.ObjectKeyFromObject(w.cluster), &clusterv1.Cluster{}))
		}).Should(BeTrue())
		machine := w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.MissingAssociatedClusterReason))
		rests(machine)
		again := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.cluster.Name}, Spec: w.cluster.Spec}
		Expect(server.Client.Create(ctx, again)).To(Succeed())
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.MissingClusterInfrastructureReadyReason))
	})

	It("for a control plane says when all that is missing is the connection", func(ctx SpecContext) {
		workload.connect(client.ObjectKeyFromObject(w.cluster), false)
		apiserver.ChangeStatus(ctx, server.Client, w.cluster, func() { w.cluster.Status.Initialization.ControlPlaneInitialized = nil })
		host, machine := w.host(ctx, "h1"), w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(hasHost)
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Bootstrapped = true })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.ProviderIDReadyCondition, metav1.ConditionFalse, infrav1.WaitingForControlPlaneInitializedReason))
		rests(machine)
		apiserver.ChangeStatus(ctx, server.Client, w.cluster, func() { w.cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true) })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.ProviderIDReadyCondition, metav1.ConditionFalse, infrav1.WorkloadClusterUnreachableReason))
	})

	It("for a paused node of its pool does so no more when the node's machine, and then its attempt, are gone", func(ctx SpecContext) {
		set := w.rolling(ctx)
		waiting, _ := w.running(ctx, "m1", inPool)
		w.ownedBy(ctx, set, "m1")
		leaving := w.machine(ctx, "m2", inPool)
		attempt := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "u2"}, Spec: infrav1.ElementalHostUpgradeSpec{
			ClusterName: "c1", MachineName: "m2", ElementalMachineName: "m2", HostName: "m2",
			ImageURI: "oci://os:v2", OSVersionManagement: osversion.OfImage("oci://os:v2"),
		}}
		Expect(server.Client.Create(ctx, attempt)).To(Succeed())
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() {
			attempt.Status.Phase, attempt.Status.NodeName, attempt.Status.Step = infrav1.UpgradeProgressing, "node-2", "Approve"
		})
		Eventually(server.Stored(ctx, waiting)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.WaitingForNodeReason))

		Expect(server.Client.Delete(ctx, leaving)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(cached.Get(ctx, client.ObjectKeyFromObject(leaving), &infrav1.ElementalMachine{}))
		}).Should(BeTrue())
		rests(waiting)
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() { attempt.Status.Phase, attempt.Status.Step = infrav1.UpgradeAborted, "" })
		Eventually(server.Stored(ctx, waiting)).Should(apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
	})
})

var _ = Describe("An ElementalMachine that is Ready", func() {
	var w *world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("watches the Nodes of its workload cluster again when that is connected again", func(ctx SpecContext) {
		machine, _ := w.running(ctx, "m1")
		key := client.ObjectKeyFromObject(w.cluster)
		Expect(workload.watches(key)()).To(BeTrue())
		rests(machine)
		workload.connect(key, false)
		workload.connect(key, true)
		Eventually(workload.watches(key)).Should(BeTrue())
	})

	It("gives a Node of another name than its host's the provider ID again when it has registered again", func(ctx SpecContext) {
		host, machine := w.host(ctx, "h1"), w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Bootstrapped = true })
		name := w.ns + "-of-another-name"
		first := node(ctx, name, "")
		owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: machine.Name}}
		apiserver.ChangeStatus(ctx, server.Client, owner, func() { owner.Status.NodeRef.Name = name })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))

		rests(machine)
		Expect(server.Client.Delete(ctx, first)).To(Succeed())
		again := node(ctx, name, "")
		Eventually(server.Stored(ctx, again)).Should(HaveField("Spec.ProviderID", "elemental://"+w.ns+"/"+host.Name))
	})
})
