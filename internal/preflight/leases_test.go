// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// plane is a control plane of three, the first of which is about to be disrupted. Its kubelets renew their Leases every ten seconds, each
// by its own clock.
type plane struct {
	live   client.Client
	reader Reader
	now    time.Time
	ahead  map[string]time.Duration
	// dead kubelets renew nothing.
	dead []string
}

const planeNamespace = "plane"

func newPlane(ctx SpecContext, live client.Client, ahead time.Duration) *plane {
	GinkgoHelper()
	p := &plane{
		live: live, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		ahead: map[string]time.Duration{"plane-c": ahead},
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: planeNamespace}}
	Expect(client.IgnoreAlreadyExists(p.live.Create(ctx, namespace))).To(Succeed())
	for _, name := range []string{"plane-a", "plane-b", "plane-c"} {
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: planeNamespace, Name: name}, Spec: clusterv1.MachineSpec{
			ClusterName: "c", Bootstrap: clusterv1.Bootstrap{DataSecretName: new("b")}, InfrastructureRef: ownertest.Reference("ElementalMachine", name),
		}}
		machine.Labels = map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.MachineControlPlaneLabel: ""}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: name}}
		for _, object := range []client.Object{machine, node, lease} {
			Expect(p.live.Create(ctx, object)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(p.live.Delete(ctx, object)).To(Succeed()) })
		}
		machine.Status.NodeRef.Name = name
		Expect(p.live.Status().Update(ctx, machine)).To(Succeed())
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		Expect(p.live.Status().Update(ctx, node)).To(Succeed())
	}
	p.renew(ctx)
	return p
}

func (p *plane) renew(ctx SpecContext) {
	GinkgoHelper()
	for _, name := range []string{"plane-a", "plane-b", "plane-c"} {
		if slices.Contains(p.dead, name) {
			continue
		}
		lease := &coordinationv1.Lease{}
		Expect(p.live.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: name}, lease)).To(Succeed())
		lease.Spec.RenewTime = new(metav1.NewMicroTime(p.now.Add(p.ahead[name])))
		Expect(p.live.Update(ctx, lease)).To(Succeed())
	}
}

// said is what speaks against the disruption of the first.
func (p *plane) said(ctx SpecContext) string {
	GinkgoHelper()
	cluster := clusterOf(planeNamespace)
	s, err := p.reader.Read(ctx, Sources{
		View: clusterview.New(p.live, client.ObjectKeyFromObject(cluster)), Workload: workload.New(p.live, p.live), Now: p.now,
		Cluster: cluster, LiveControlPlane: p.live,
	})
	Expect(err).NotTo(HaveOccurred())
	for i := range s.Machines {
		if s.Machines[i].Name != "plane-a" {
			continue
		}
		for _, result := range checkQuorum(s, &Subject{Machine: &s.Machines[i], Attempt: "a/1"}) {
			return result.Message
		}
	}
	return ""
}

// looks are what is said every five seconds, while the kubelets renew their Leases every ten.
func (p *plane) looks(ctx SpecContext, times int) []string {
	GinkgoHelper()
	said := []string{}
	for look := range times {
		if look%2 == 1 {
			p.renew(ctx)
		}
		said = append(said, p.said(ctx))
		p.now = p.now.Add(5 * time.Second)
	}
	return said
}

var _ = Describe("Whatever the clock of a kubelet says,", Ordered, func() {
	skews := []TableEntry{
		Entry("8 h behind", -8*time.Hour), Entry("1 min behind", -time.Minute), Entry("the same", time.Duration(0)),
		Entry("1 min ahead", time.Minute), Entry("8 h ahead", 8*time.Hour),
	}
	var live client.Client
	BeforeAll(func() { live = apiserver.NewIndexed(apiserver.StartForSuite().Client, clusterview.AddIndexes) })
	awaits := HaveSuffix(": waiting for a heartbeat of Machine plane-b, plane-c")

	DescribeTable("a node of the control plane may go down as soon as the others are seen to renew their Leases", func(ctx SpecContext, ahead time.Duration) {
		p := newPlane(ctx, live, ahead)
		said := p.looks(ctx, 12)
		Expect(said[0]).To(awaits, "nothing is known yet")
		Expect(said[1:]).To(HaveEach(""))

		p.reader = Reader{} // the manager was restarted
		said = p.looks(ctx, 12)
		Expect(said[0]).To(awaits)
		Expect(said[1:]).To(HaveEach(""))

		p.now = p.now.Add(time.Hour) // others were upgraded meanwhile
		p.renew(ctx)
		said = p.looks(ctx, 12)
		Expect(said[0]).To(awaits, "they were renewed some time in the last hour")
		Expect(said[1:]).To(HaveEach(""))
	}, skews)

	DescribeTable("one that has died is found silent, and one that returns is not", func(ctx SpecContext, ahead time.Duration) {
		p := newPlane(ctx, live, ahead)
		Expect(p.looks(ctx, 4)[3]).To(BeEmpty())
		p.dead = []string{"plane-c"}
		said := p.looks(ctx, 12)
		Expect(said[11]).To(HaveSuffix(", but the kubelet of Machine plane-c is silent: bring them back first"))
		p.dead = nil
		Expect(p.looks(ctx, 6)[5]).To(BeEmpty())
	}, skews)

	DescribeTable("one that is dead when it is looked at first is waited for, and then silent", func(ctx SpecContext, ahead time.Duration) {
		p := newPlane(ctx, live, ahead)
		p.dead = []string{"plane-c"}
		said := p.looks(ctx, 12)
		Expect(said[2]).To(HaveSuffix(": waiting for a heartbeat of Machine plane-c"))
		Expect(said[11]).To(HaveSuffix(", but the kubelet of Machine plane-c is silent: bring them back first"))
	}, skews)
})
