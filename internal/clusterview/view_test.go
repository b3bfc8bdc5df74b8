// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts/attemptstest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const oldImage = "oci://os:v1"

// scene is a namespace with the Clusters c and other, with two Machines each of one MachineDeployment, of the cluster's name,
// and two attempts on the first of them. The last attempt is there when it is whole.
type scene struct{ namespace string }

func newScene(ctx SpecContext) *scene {
	GinkgoHelper()
	s := &scene{server.NewNamespace(ctx)}
	s.create(ctx, ownertest.Template(s.namespace, "t", oldImage))
	for _, cluster := range []string{"c", "other"} {
		md := ownertest.MachineDeployment(s.namespace, cluster, cluster, "t", 2)
		s.create(ctx, md)
		set := ownertest.MachineSet(md, cluster, "t", 2)
		s.create(ctx, set)
		for _, name := range []string{cluster + "-1", cluster + "-2"} {
			s.addMachine(ctx, set, cluster, name)
		}
		for _, name := range []string{cluster + "-old", cluster + "-new"} {
			s.create(ctx, attemptstest.New(s.namespace, name, cluster, cluster+"-1", oldImage))
		}
	}
	Eventually(func(g Gomega) {
		seen, err := s.view("other").Attempt(ctx, "other-new")
		g.Expect(seen, err).NotTo(BeNil())
		hosts, err := s.view("other").Hosts(ctx)
		g.Expect(hosts, err).To(HaveLen(2))
		elementals, err := s.view("other").ElementalMachines(ctx)
		g.Expect(elementals, err).To(HaveLen(2))
		machines, err := s.view("other").Machines(ctx)
		g.Expect(machines, err).To(HaveLen(2))
	}).Should(Succeed())
	return s
}

func (s *scene) create(ctx SpecContext, object client.Object) {
	GinkgoHelper()
	Expect(live.Create(ctx, object)).To(Succeed())
}

func (s *scene) addMachine(ctx SpecContext, set *clusterv1.MachineSet, cluster, name string) {
	GinkgoHelper()
	labels := map[string]string{clusterv1.ClusterNameLabel: cluster, clusterv1.MachineDeploymentNameLabel: cluster}
	machine := ownertest.Machine(set, name)
	machine.Labels = labels
	s.create(ctx, machine)
	elemental := ownertest.ElementalMachine(s.namespace, "em-"+name, "t", oldImage)
	elemental.Labels = labels
	elemental.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Machine", Name: "stranger", UID: "1"},
		{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID},
	}
	s.create(ctx, elemental)
	s.create(ctx, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: labels}})
}

// report changes the status of an object.
func (s *scene) report(ctx SpecContext, object client.Object, change func()) {
	GinkgoHelper()
	Expect(live.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	change()
	Expect(live.Status().Update(ctx, object)).To(Succeed())
}

func (s *scene) attempt(ctx SpecContext, name string) infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	found := infrav1.ElementalHostUpgrade{}
	Expect(live.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &found)).To(Succeed())
	return found
}

func (s *scene) view(cluster string) *clusterview.View {
	return clusterview.New(cached, client.ObjectKey{Namespace: s.namespace, Name: cluster})
}

var _ = Describe("A View", func() {
	It("has what is its Cluster's, and looks at nothing else", func(ctx SpecContext) {
		s := newScene(ctx)
		newScene(ctx)
		cached.Listed()
		view := s.view("c")
		Expect(view.Machines(ctx)).To(ConsistOf(HaveField("Name", "c-1"), HaveField("Name", "c-2")))
		Expect(view.ElementalMachines(ctx)).To(ConsistOf(HaveField("Name", "em-c-1"), HaveField("Name", "em-c-2")))
		Expect(view.Hosts(ctx)).To(ConsistOf(HaveField("Name", "c-1"), HaveField("Name", "c-2")))
		Expect(view.Unfinished(ctx)).To(HaveLen(2))
		Expect(cached.Listed()).To(BeEquivalentTo(2 + 2 + 2 + 2))
	})

	It("reads each list once", func(ctx SpecContext) {
		view := newScene(ctx).view("c")
		cached.Listed()
		for range 3 {
			Expect(view.Machines(ctx)).To(HaveLen(2))
			Expect(view.Unfinished(ctx)).To(HaveLen(2))
			Expect(view.UnfinishedOn(ctx, "c-1")).NotTo(BeNil())
		}
		Expect(cached.Listed()).To(BeEquivalentTo(2 + 2))
	})

	It("has the newest attempt on a Machine, and looks at no others", func(ctx SpecContext) {
		s := newScene(ctx)
		view := s.view("c")
		newest := attempts.Newest([]infrav1.ElementalHostUpgrade{s.attempt(ctx, "c-old"), s.attempt(ctx, "c-new")})
		cached.Listed()
		Expect(view.NewestAttempt(ctx, "c-1")).To(HaveField("Name", newest.Name))
		Expect(cached.Listed()).To(BeEquivalentTo(2))
		Expect(view.UnfinishedOn(ctx, "c-1")).To(HaveField("Name", newest.Name))
		for _, none := range []string{"c-2", "other-1"} {
			Expect(view.NewestAttempt(ctx, none)).To(BeNil())
			Expect(view.UnfinishedOn(ctx, none)).To(BeNil())
		}
	})

	It("has single objects, or none", func(ctx SpecContext) {
		view := newScene(ctx).view("c")
		Expect(view.Host(ctx, "c-1")).To(HaveField("Name", "c-1"))
		Expect(view.Host(ctx, "none")).To(BeNil())
		elemental, err := view.ElementalMachine(ctx, "em-c-1")
		Expect(err).NotTo(HaveOccurred())
		Expect(view.MachineOf(ctx, elemental)).To(HaveField("Name", "c-1"))
		Expect(view.MachineOf(ctx, &infrav1.ElementalMachine{})).To(BeNil())
		Expect(view.Attempt(ctx, "c-new")).To(HaveField("Name", "c-new"))
		Expect(view.Attempt(ctx, "other-new")).To(BeNil(), "it is another Cluster's")
	})

	It("has what is of one Node, and looks at no other's", func(ctx SpecContext) {
		s := newScene(ctx)
		for _, cluster := range []string{"c", "other"} {
			machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: cluster + "-1"}}
			s.report(ctx, machine, func() { machine.Status.NodeRef.Name = "n" })
			host := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: cluster + "-1"}}
			s.report(ctx, host, func() {
				host.Status.Addresses = []clusterv1.MachineAddress{
					{Type: clusterv1.MachineInternalIP, Address: "10.0.0.1"}, {Type: clusterv1.MachineHostName, Address: "n"},
				}
			})
		}
		Eventually(func(g Gomega) {
			cached.Listed()
			view := s.view("c")
			g.Expect(view.MachinesOn(ctx, "n")).To(ConsistOf(HaveField("Name", "c-1")))
			g.Expect(view.HostsNamed(ctx, "n")).To(ConsistOf(HaveField("Name", "c-1")))
			g.Expect(view.HostsNamed(ctx, "c-2")).To(ConsistOf(HaveField("Name", "c-2")))
			for _, none := range []string{"10.0.0.1", "other-1", ""} {
				g.Expect(view.MachinesOn(ctx, none)).To(BeEmpty())
				g.Expect(view.HostsNamed(ctx, none)).To(BeEmpty())
			}
			g.Expect(cached.Listed()).To(BeEquivalentTo(3))
		}).Should(Succeed())
	})

	It("asks each owner once what it wants", func(ctx SpecContext) {
		s := newScene(ctx)
		view := s.view("c")
		Eventually(func(g Gomega) {
			machines, err := view.Machines(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			_, found, err := s.view("c").WantsOS(ctx, &machines[0])
			g.Expect(found, err).To(BeTrue())
		}).Should(Succeed())
		machines, _ := view.Machines(ctx)
		want, found, err := view.WantsOS(ctx, &machines[0])
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue())
		Expect(want.TemplateName).To(Equal("t"))
		again, _, err := view.WantsOS(ctx, &machines[1])
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Template).To(BeIdenticalTo(want.Template))
		_, found, err = view.WantsOS(ctx, &clusterv1.Machine{})
		Expect(found, err).To(BeFalse())
	})

	It("counts the Machines that Cluster API has not brought to the template of their owner", func(ctx SpecContext) {
		s := newScene(ctx)
		rotation := func(of *clusterv1.MachineDeployment) (int32, bool) {
			GinkgoHelper()
			behind, isRotating, err := s.view("c").Rotation(ctx, owner.ForMachineDeployment(of))
			Expect(err).NotTo(HaveOccurred())
			return behind, isRotating
		}
		md := ownertest.MachineDeployment(s.namespace, "c", "c", "t", 2)
		behind, isRotating := rotation(md)
		Expect(behind).To(BeZero())
		Expect(isRotating).To(BeFalse())
		md.Spec.Template.Spec.InfrastructureRef.Name = "t-2"
		behind, isRotating = rotation(md)
		Expect(behind).To(BeEquivalentTo(2))
		Expect(isRotating).To(BeTrue())
		md.Name = "another"
		_, isRotating = rotation(md)
		Expect(isRotating).To(BeFalse(), "it has no Machines")
	})

	It("has the hosts in failure domains that are its own, or free, and looks at no others", func(ctx SpecContext) {
		s := newScene(ctx)
		for name, cluster := range map[string]string{"free": "", "ours": "c", "theirs": "other"} {
			s.create(ctx, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{
				Namespace: s.namespace, Name: name, Labels: map[string]string{association.FailureDomainLabel: "a", clusterv1.ClusterNameLabel: cluster},
			}})
		}
		s.create(ctx, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: "nowhere", Labels: map[string]string{association.FailureDomainLabel: ""},
		}})
		Eventually(func(g Gomega) {
			cached.Listed()
			g.Expect(s.view("c").HostsInDomains(ctx)).To(ConsistOf(HaveField("Name", "free"), HaveField("Name", "ours")))
			g.Expect(cached.Listed()).To(BeEquivalentTo(2))
		}).Should(Succeed())
	})
})

var _ = It("The rollouts of a template are found, and no other is looked at", func(ctx SpecContext) {
	s := newScene(ctx)
	for _, name := range []string{"a", "b"} {
		template := ownertest.Template(s.namespace, name, oldImage)
		s.create(ctx, ownertest.Rollout(template, "c"))
		Eventually(func(g Gomega) {
			cached.Listed()
			g.Expect(s.view("c").CurrentRollout(ctx, template)).To(HaveField("Name", name))
			g.Expect(s.view("other").CurrentRollout(ctx, template)).To(BeNil())
			g.Expect(cached.Listed()).To(BeEquivalentTo(2))
		}).Should(Succeed())
	}
})

var _ = It("A Node is cached without what nobody reads", func() {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Spec:       corev1.NodeSpec{ProviderID: "id", Unschedulable: true},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady}}, Images: []corev1.ContainerImage{{}},
			VolumesInUse: []corev1.UniqueVolumeName{"v"}, VolumesAttached: []corev1.AttachedVolume{{}},
		},
	}
	Expect(clusterview.TrimNode(node)).To(Equal(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.NodeSpec{ProviderID: "id", Unschedulable: true},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady}}},
	}))
	Expect(clusterview.TrimNode("other")).To(Equal("other"))
})

var _ = DescribeTable("RunsItsOS", func(osVersion string, status metav1.ConditionStatus, observed int64, expected bool) {
	machine := &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	machine.Spec.OSVersionManagement = specs.OS(osVersion)
	if status != "" {
		machine.Status.Conditions = []metav1.Condition{{Type: infrav1.OSUpToDateCondition, Status: status, ObservedGeneration: observed, Reason: "R"}}
	}
	Expect(clusterview.RunsItsOS(machine)).To(Equal(expected))
},
	Entry("it does", `{"imageUri":"oci://os:v1"}`, metav1.ConditionTrue, int64(2), true),
	Entry("it ran the former one", `{"imageUri":"oci://os:v1"}`, metav1.ConditionTrue, int64(1), false),
	Entry("it does not", `{"imageUri":"oci://os:v1"}`, metav1.ConditionFalse, int64(2), false),
	Entry("it is not known yet", `{"imageUri":"oci://os:v1"}`, metav1.ConditionUnknown, int64(2), false),
	Entry("nobody can tell, because there is no image", `{"debug":true}`, metav1.ConditionUnknown, int64(2), true),
	Entry("a ManagedOSVersion is not looked up yet", `{"managedOSVersionName":"v1"}`, metav1.ConditionUnknown, int64(2), false),
	Entry("nothing is said yet", `{}`, metav1.ConditionStatus(""), int64(0), false),
)
