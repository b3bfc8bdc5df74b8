// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("An ElementalMachine", func() {
	var w *world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("gets a host, waits for it, and gives its Node the provider ID", func(ctx SpecContext) {
		machine := w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.MissingAvailableHostsReason))

		By("a host that becomes free, without any other event")
		host := w.host(ctx, "h1")
		Eventually(server.Stored(ctx, machine)).Should(SatisfyAll(
			apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
			apiserver.HaveCondition(infrav1.HostReadyCondition, metav1.ConditionFalse, infrav1.HostWaitingForBootstrapReason),
			HaveField("Spec.ProviderID", "elemental://"+w.ns+"/"+host.Name),
			HaveField("Finalizers", ConsistOf(infrav1.ElementalMachineFinalizer)),
			HaveField("Status.Addresses", ConsistOf(clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: "10.0.0.1"})),
			HaveField("Status.FailureDomain", "z1"),
			HaveField("Status.Initialization.Provisioned", BeNil()),
		))

		By("its bootstrap")
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Bootstrapped = true })
		Eventually(server.Stored(ctx, machine)).Should(SatisfyAll(
			HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())),
			apiserver.HaveCondition(infrav1.ProviderIDReadyCondition, metav1.ConditionFalse, infrav1.NodeNotFoundReason),
			apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason),
		))

		By("its Node, without any other event")
		object := node(ctx, host.Name, "")
		Eventually(server.Stored(ctx, object)).Should(HaveField("Spec.ProviderID", "elemental://"+w.ns+"/"+host.Name))
		Eventually(server.Stored(ctx, machine)).Should(SatisfyAll(
			apiserver.HaveCondition(infrav1.ProviderIDReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
			apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
			apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
		))
	})

	It("tells of the OS that a user has set on its host, which does not last", func(ctx SpecContext) {
		told := func(host client.Object) func() ([]string, error) {
			return func() ([]string, error) {
				list := &eventsv1.EventList{}
				err := server.Client.List(ctx, list, client.InNamespace(w.ns))
				notes := []string{}
				for i := range list.Items {
					if is := &list.Items[i]; is.Regarding.Name == host.GetName() && is.Reason == infrav1.EventHostOSReplaced {
						notes = append(notes, is.Type+": "+is.Note)
					}
				}
				return notes, err
			}
		}
		patched := w.host(ctx, "h1", func(h *infrav1.ElementalHost) { h.Spec.OSVersionManagement = osversion.OfImage("oci://os:mine") })
		machine := w.machine(ctx, "m1", madeFrom("t1"))
		Eventually(told(patched)).Should(ConsistOf("Warning: spec.osVersionManagement was oci://os:mine and is now that of ElementalMachine m1, oci://os:v1: " +
			"to have another, change it in ElementalMachineTemplate t1"))
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
		Expect(server.Stored(ctx, patched)()).To(HaveField("Spec.OSVersionManagement", osversion.OfImage("oci://os:v1")))

		By("not where it is the same OS")
		same := w.host(ctx, "h2", func(h *infrav1.ElementalHost) { h.Spec.OSVersionManagement = debug("oci://os:v1") })
		machine = w.machine(ctx, "m2")
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef.Name", same.Name))
		Consistently(told(same)).Should(BeEmpty())
	})

	It("names its host on the Machine, which Cluster API 1.14 must never find without an annotation", func(ctx SpecContext) {
		host := w.host(ctx, "h1")
		machine := w.machine(ctx, "m1")
		owner := &clusterv1.Machine{}
		owner.Namespace, owner.Name = machine.Namespace, machine.OwnerReferences[0].Name
		Eventually(server.Stored(ctx, owner)).Should(HaveField("Annotations", HaveKeyWithValue(infrav1.HostAnnotation, host.Name)))
	})

	It("gives no provider ID to a Node that only has the host's name, until it runs in the host's boot", func(ctx SpecContext) {
		host := w.host(ctx, "h1")
		machine := w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Bootstrapped, s.OS.BootID = true, "boot-2" })
		object := node(ctx, host.Name, "")
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.ProviderIDReadyCondition, metav1.ConditionFalse, infrav1.NodeBootIDMismatchReason))
		Expect(server.Stored(ctx, object)()).To(HaveField("Spec.ProviderID", BeEmpty()))

		By("a report of no boot at all")
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.OS.BootID = "" })
		apiserver.ChangeStatus(ctx, server.Client, object, func() { object.Status.NodeInfo.BootID = "" })
		Consistently(server.Stored(ctx, object)).Should(HaveField("Spec.ProviderID", BeEmpty()))

		By("the boot of the host")
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.OS.BootID = "boot-3" })
		apiserver.ChangeStatus(ctx, server.Client, object, func() { object.Status.NodeInfo.BootID = "boot-3" })
		Eventually(server.Stored(ctx, object)).Should(HaveField("Spec.ProviderID", "elemental://"+w.ns+"/"+host.Name))
	})

	It("never overwrites another provider ID", func(ctx SpecContext) {
		host := w.host(ctx, "h1")
		object := node(ctx, host.Name, "aws:///i-1")
		machine := w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Bootstrapped = true })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.ProviderIDReadyCondition, metav1.ConditionFalse, infrav1.NodeProviderIDMismatchReason))
		Expect(server.Stored(ctx, object)()).To(HaveField("Spec.ProviderID", "aws:///i-1"))
	})

	It("stays Ready while the workload cluster cannot be reached, and was not before it could", func(ctx SpecContext) {
		key := client.ObjectKeyFromObject(w.cluster)
		workload.connect(key, false)
		host := w.host(ctx, "h1")
		machine := w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Bootstrapped = true })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.ProviderIDReadyCondition, metav1.ConditionFalse, infrav1.WorkloadClusterUnreachableReason))

		node(ctx, host.Name, "")
		workload.connect(key, true)
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		workload.connect(key, false)
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.OS.BootID = "another" })
		Consistently(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
	})

	DescribeTable("claims no host before all is there that it needs",
		func(ctx SpecContext, spoil func(ctx SpecContext), reason string) {
			spoil(ctx)
			host := w.host(ctx, "h1")
			machine := w.machine(ctx, "m1", func(m *infrav1.ElementalMachine) {
				switch reason {
				case infrav1.MissingMachineOwnerReason:
					m.OwnerReferences = nil
				case infrav1.InvalidSelectorReason:
					m.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "not a value!"}}
				}
			})
			if reason == infrav1.MissingBootstrapSecretReason {
				owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m2", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}}}
				owner.Spec.ClusterName = "c1"
				owner.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: "b", Kind: "B", Name: "b"}
				owner.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: "m1"}
				Expect(server.Client.Create(ctx, owner)).To(Succeed())
				host = nil // m1 has its own Machine, and takes the host
				machine = &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{
					Namespace: w.ns, Name: "m2", Labels: machine.Labels,
					OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m2", UID: owner.UID}},
				}}
				Expect(server.Client.Create(ctx, machine)).To(Succeed())
			}
			Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, reason))
			if host != nil {
				Expect(server.Stored(ctx, host)()).To(HaveField("Spec.MachineRef", BeNil()))
			}
		},
		Entry("an owner", func(SpecContext) {}, infrav1.MissingMachineOwnerReason),
		Entry("a valid selector", func(SpecContext) {}, infrav1.InvalidSelectorReason),
		Entry("bootstrap data", func(SpecContext) {}, infrav1.MissingBootstrapSecretReason),
		Entry("the Cluster", func(ctx SpecContext) {
			Expect(server.Client.Delete(ctx, w.cluster)).To(Succeed())
			Eventually(gone(ctx, w.cluster)).Should(BeTrue())
		}, infrav1.MissingAssociatedClusterReason),
		Entry("the Cluster's infrastructure", func(ctx SpecContext) {
			apiserver.ChangeStatus(ctx, server.Client, w.cluster, func() { w.cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(false) })
		}, infrav1.MissingClusterInfrastructureReadyReason),
	)

	It("passes its OS on to the host, in place, and nothing else happens", func(ctx SpecContext) {
		machine, host := w.running(ctx, "m1")
		apiserver.Change(ctx, server.Client, machine, func() { machine.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2") })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.OSVersionManagement", osversion.OfImage("oci://os:v2")))
		Expect(host.Spec.Upgrade).To(BeNil())
		Expect(host.Labels).NotTo(HaveKey(infrav1.InPlaceUpgradeLabel))
		Eventually(server.Stored(ctx, machine)).Should(SatisfyAll(
			apiserver.HaveCondition(infrav1.OSUpToDateCondition, metav1.ConditionFalse, infrav1.HostRunsOtherOSReason),
			apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
		))
	})

	It("does nothing while it, or its Cluster, is paused", func(ctx SpecContext) {
		apiserver.Change(ctx, server.Client, w.cluster, func() { w.cluster.Spec.Paused = ptr.To(true) })
		host := w.host(ctx, "h1")
		machine := w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason))
		Consistently(server.Stored(ctx, host)).Should(HaveField("Spec.MachineRef", BeNil()))

		apiserver.Change(ctx, server.Client, machine, func() { machine.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
		apiserver.Change(ctx, server.Client, w.cluster, func() { w.cluster.Spec.Paused = nil })
		Consistently(server.Stored(ctx, host)).Should(HaveField("Spec.MachineRef", BeNil()))

		apiserver.Change(ctx, server.Client, machine, func() { delete(machine.Annotations, clusterv1.PausedAnnotation) })
		Eventually(server.Stored(ctx, host)).Should(HaveField("Spec.MachineRef", Not(BeNil())))
	})

	It("is left alone without the watch-filter label, whatever happens around it", func(ctx SpecContext) {
		machine := w.machine(ctx, "m1", func(m *infrav1.ElementalMachine) { delete(m.Labels, clusterv1.WatchLabel) })
		host := w.host(ctx, "h1")
		Consistently(server.Stored(ctx, host)).Should(HaveField("Spec.MachineRef", BeNil()))
		Expect(server.Stored(ctx, machine)()).To(HaveField("Status.Conditions", BeEmpty()))
	})

	It("reports a host that is lost", func(ctx SpecContext) {
		machine, host := w.running(ctx, "m1")
		apiserver.Change(ctx, server.Client, host, func() { host.Finalizers = nil })
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		Eventually(server.Stored(ctx, machine)).Should(SatisfyAll(
			apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.AssociatedHostNotFoundReason),
			apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason),
			HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())),
		))
	})

	It("does not take a host that registers under the name of its own for its own", func(ctx SpecContext) {
		machine, host := w.running(ctx, "m1")
		apiserver.Change(ctx, server.Client, host, func() { host.Finalizers = nil })
		Expect(server.Client.Delete(ctx, host)).To(Succeed())
		// Only the host's return is left to tell the machine.
		Eventually(server.Stored(ctx, machine)).Should(
			apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.AssociatedHostNotFoundReason))
		again := w.host(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(SatisfyAll(
			apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.AssociatedHostReplacedReason),
			apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionFalse, clusterv1.NotReadyReason),
		))
		Consistently(server.Stored(ctx, again)).Should(HaveField("Spec.MachineRef", BeNil()))

		By("a person who knows that it is the same")
		apiserver.Change(ctx, server.Client, machine, func() { machine.Spec.HostRef.UID = again.UID })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
		Eventually(server.Stored(ctx, again)).Should(HaveField("Spec.MachineRef.Name", "m1"))
	})

	It("claims no host for a Machine that is being deleted", func(ctx SpecContext) {
		machine := w.machine(ctx, "m1")
		owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "m1"}}
		apiserver.Change(ctx, server.Client, owner, func() { owner.Finalizers = []string{"test.example.com/held"} })
		Expect(server.Client.Delete(ctx, owner)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { apiserver.Change(ctx, server.Client, owner, func() { owner.Finalizers = nil }) })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.AssociationReadyCondition, metav1.ConditionFalse, infrav1.MissingMachineOwnerReason))
		host := w.host(ctx, "h1")
		Consistently(server.Stored(ctx, host)).Should(HaveField("Spec.MachineRef", BeNil()))
	})

	It("costs nothing while its host and its Node only say that they are there", func(ctx SpecContext) {
		machine, host := w.running(ctx, "m1")
		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: host.Name}}
		Eventually(settled(machine)).WithPolling(apiserver.Settling).Should(BeTrue())
		before := reconcilesOf(machine)

		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Agent.LastSeen = metav1.Now() })
		apiserver.ChangeStatus(ctx, server.Client, object, func() {
			object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		})
		apiserver.Change(ctx, server.Client, host, func() { host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a1"} })
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
			s.Upgrade = &infrav1.HostUpgradeStatus{Attempt: "a1", Phase: infrav1.HostUpgradeFetching}
		})
		Consistently(reconcilesOf).WithArguments(machine).Should(BeNumerically("<=", before+1), "spec.upgrade is a part of what the machine reports of its host")
		Expect(server.Stored(ctx, machine)()).To(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
	})

	It("is not looked at when a Node registers that is not its host's", func(ctx SpecContext) {
		_, machine := w.host(ctx, "h1"), w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
		key := client.ObjectKeyFromObject(w.cluster)
		w.report(ctx, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: machine.Spec.HostRef.Name}},
			func(s *infrav1.ElementalHostStatus) { s.Bootstrapped = true })
		Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(infrav1.ProviderIDReadyCondition, metav1.ConditionFalse, infrav1.NodeNotFoundReason))
		Expect(workload.watches(key)()).To(BeTrue())
		Eventually(settled(machine)).WithPolling(apiserver.Settling).Should(BeTrue())
		before := reconcilesOf(machine)
		node(ctx, w.ns+"-somebody-elses", "")
		Consistently(reconcilesOf).WithArguments(machine).Should(Equal(before))
	})

	It("finds a Node that has the host's other name", func(ctx SpecContext) {
		host := w.host(ctx, "h1")
		machine := w.machine(ctx, "m1")
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
		w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
			s.Bootstrapped = true
			s.Addresses = append(s.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: host.Name + ".example.com"})
		})
		Eventually(server.Stored(ctx, machine)).Should(HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())))
		object := node(ctx, host.Name+".example.com", "")
		Eventually(server.Stored(ctx, object)).Should(HaveField("Spec.ProviderID", machine.Spec.ProviderID))
		Expect(server.Stored(ctx, object)()).To(BeAssignableToTypeOf(&corev1.Node{}))
	})
})
