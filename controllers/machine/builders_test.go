// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// world is one Cluster, in a namespace of its own, for one spec.
type world struct {
	ns      string
	cluster *clusterv1.Cluster
}

func newWorld(ctx SpecContext) *world {
	GinkgoHelper()
	clock.SetTime(time.Now()) // a former spec may have left it in the future, for which what is written now is long ago
	namespace := server.NewNamespace(ctx)
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c1"},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: "c1",
			},
		},
	}
	Expect(server.Client.Create(ctx, cluster)).To(Succeed())
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	Expect(server.Client.Status().Update(ctx, cluster)).To(Succeed())
	return &world{ns: namespace, cluster: cluster}
}

// host makes an approved, installed host that runs oci://os:v1.
func (w *world) host(ctx SpecContext, name string, changes ...func(*infrav1.ElementalHost)) *infrav1.ElementalHost {
	GinkgoHelper()
	host := &infrav1.ElementalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: w.ns + "-" + name,
			Labels: map[string]string{clusterv1.WatchLabel: watchFilter, corev1.LabelTopologyZone: "z1"},
		},
		Spec: infrav1.ElementalHostSpec{Approved: true, PubKey: "key"},
	}
	for _, change := range changes {
		change(host)
	}
	Expect(server.Client.Create(ctx, host)).To(Succeed())
	w.report(ctx, host, func(s *infrav1.ElementalHostStatus) {
		s.Phase, s.Agent.Version = infrav1.HostPhaseRunning, "v0.8.0"
		s.Installed = true
		s.OS = infrav1.HostOS{ImageURI: "oci://os:v1", Digest: "sha256:1", BootID: bootID}
		s.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "10.0.0.1"}}
	})
	return host
}

// report does what the Elemental API does with a report of the host's agent.
func (w *world) report(ctx SpecContext, host *infrav1.ElementalHost, change func(*infrav1.ElementalHostStatus)) {
	GinkgoHelper()
	apiserver.ChangeStatus(ctx, server.Client, host, func() { change(&host.Status) })
}

// machine makes a Machine with bootstrap data, and the ElementalMachine that it owns.
func (w *world) machine(ctx SpecContext, name string, changes ...func(*infrav1.ElementalMachine)) *infrav1.ElementalMachine {
	GinkgoHelper()
	owner := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}},
		Spec: clusterv1.MachineSpec{
			ClusterName: "c1",
			Bootstrap:   clusterv1.Bootstrap{DataSecretName: ptr.To("bootstrap-" + name)},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: name,
			},
		},
	}
	Expect(server.Client.Create(ctx, owner)).To(Succeed())
	machine := &infrav1.ElementalMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: name,
			Labels: map[string]string{clusterv1.ClusterNameLabel: "c1", clusterv1.WatchLabel: watchFilter},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: owner.UID,
			}},
		},
		Spec: infrav1.ElementalMachineSpec{OSVersionManagement: osversion.OfImage("oci://os:v1")},
	}
	for _, change := range changes {
		change(machine)
	}
	Expect(server.Client.Create(ctx, machine)).To(Succeed())
	return machine
}

// bootID of the hosts and Nodes that the suite makes.
const bootID = "boot-1"

// node makes a Node of the workload cluster.
func node(ctx SpecContext, name, providerID string) *corev1.Node {
	GinkgoHelper()
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	object.Status.NodeInfo.BootID = bootID
	Expect(server.Client.Create(ctx, object)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(server.Client.Delete(ctx, object))).To(Succeed())
	})
	return object
}

// gone reports whether an object does not exist any more, for Eventually.
func gone(ctx SpecContext, object client.Object) func() bool {
	return func() bool {
		return apierrors.IsNotFound(server.Client.Get(ctx, client.ObjectKeyFromObject(object), object))
	}
}

// running makes a machine whose host is bootstrapped and whose Node is there, and waits until it is Ready.
func (w *world) running(ctx SpecContext, name string, changes ...func(*infrav1.ElementalMachine)) (*infrav1.ElementalMachine, *infrav1.ElementalHost) {
	GinkgoHelper()
	host := w.host(ctx, name)
	machine := w.machine(ctx, name, changes...)
	Eventually(server.Stored(ctx, machine)).Should(HaveField("Spec.HostRef", Not(BeNil())))
	w.report(ctx, host, func(s *infrav1.ElementalHostStatus) { s.Bootstrapped = true })
	node(ctx, host.Name, "")
	Eventually(server.Stored(ctx, machine)).Should(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))
	return machine, host
}

// template makes an ElementalMachineTemplate of an OS.
func (w *world) template(ctx SpecContext, name, uri string) *infrav1.ElementalMachineTemplate {
	GinkgoHelper()
	made := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}}
	made.Spec.Template.Spec.OSVersionManagement = osversion.OfImage(uri)
	Expect(server.Client.Create(ctx, made)).To(Succeed())
	return made
}
