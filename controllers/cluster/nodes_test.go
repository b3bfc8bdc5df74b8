// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const (
	v1Image, v2Image   = "oci://r/os:v1", "oci://r/os:v2"
	v1Digest, v2Digest = "sha256:1111111111111111", "sha256:2222222222222222"
)

// pool is a MachineDeployment with two machines, whose hosts run v1.
type pool struct {
	owner      *clusterv1.Cluster
	cluster    *infrav1.ElementalCluster
	deployment *clusterv1.MachineDeployment
	machines   []*infrav1.ElementalMachine
	hosts      []*infrav1.ElementalHost
}

func makePool(ctx SpecContext) *pool {
	GinkgoHelper()
	owner, object := makeCluster(ctx, func(c *infrav1.ElementalCluster) { c.Spec.ControlPlaneEndpoint = endpoint })
	own(ctx, owner, object)
	p := &pool{owner: owner, cluster: object}
	namespace := object.Namespace
	Expect(server.Client.Create(ctx, ownertest.Template(namespace, "workers", v1Image))).To(Succeed())
	p.deployment = ownertest.MachineDeployment(namespace, "workers", "c1", "workers", 2)
	Expect(server.Client.Create(ctx, p.deployment)).To(Succeed())
	set := ownertest.MachineSet(p.deployment, "workers-1", "workers", 2)
	Expect(server.Client.Create(ctx, set)).To(Succeed())
	for _, name := range []string{"node-1", "node-2"} {
		p.add(ctx, set, name)
	}
	return p
}

func (p *pool) add(ctx SpecContext, set *clusterv1.MachineSet, name string) {
	GinkgoHelper()
	labels := map[string]string{clusterv1.ClusterNameLabel: "c1"}
	machine := ownertest.Machine(set, "m-"+name)
	machine.Labels = labels
	Expect(server.Client.Create(ctx, machine)).To(Succeed())
	apiserver.ChangeStatus(ctx, server.Client, machine, func() { machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: name} })
	host := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: "host-" + name, Labels: labels}}
	Expect(server.Client.Create(ctx, host)).To(Succeed())
	apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.OS = infrav1.HostOS{ImageURI: v1Image, Digest: v1Digest} })
	elemental := &infrav1.ElementalMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: machine.Name, Labels: labels, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: machine.Name, UID: machine.UID,
		}}},
		Spec: infrav1.ElementalMachineSpec{
			HostRef: &infrav1.LocalReference{Name: host.Name}, OSVersionManagement: osversion.OfImage(v1Image),
		},
	}
	Expect(server.Client.Create(ctx, elemental)).To(Succeed())
	p.machines, p.hosts = append(p.machines, elemental), append(p.hosts, host)
}

// says what the status line is.
func (p *pool) says(ctx SpecContext) func() (string, error) {
	return func() (string, error) {
		_, err := server.Stored(ctx, p.cluster)()
		if line := conditions.Get(p.cluster, infrav1.NodesUpToDateCondition); line != nil {
			return line.Reason + ": " + line.Message, err
		}
		return "", err
	}
}

var _ = Describe("The status line of a cluster", func() {
	It("counts nodes by the template that was patched while they are brought to its content of before", func(ctx SpecContext) {
		p := makePool(ctx)
		for _, machine := range p.machines {
			apiserver.Change(ctx, server.Client, machine, func() { owner.Note(machine, "workers", osversion.Hash(osversion.OfImage(v1Image)), "workers-1") })
		}
		Eventually(p.says(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on sha256:111111111111"))
		source := ownertest.Template(p.cluster.Namespace, "workers", "")
		apiserver.Change(ctx, server.Client, source, func() { source.Spec.Template.Spec.OSVersionManagement = osversion.OfImage(v2Image) })
		Eventually(p.says(ctx)).Should(Equal("NodesWaiting: 0 of 2 nodes on " + v2Image))
	})

	It("does not say that all is well where the template is gone that says which OS is wanted", func(ctx SpecContext) {
		p := makePool(ctx)
		Eventually(p.says(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on sha256:111111111111"))
		Expect(server.Client.Delete(ctx, ownertest.Template(p.cluster.Namespace, "workers", v1Image))).To(Succeed())
		Eventually(p.says(ctx)).Should(Equal("NodesWaiting: 0 of 2 nodes on ElementalMachineTemplate workers, which does not exist"))
	})

	It("follows a rollout, a roll-back and a drift", func(ctx SpecContext) {
		p := makePool(ctx)
		namespace := p.cluster.Namespace
		Eventually(p.says(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on sha256:111111111111"))
		written := settled(ctx, p.cluster)

		By("a word of a host, and of an attempt, that is not in the line")
		apiserver.ChangeStatus(ctx, server.Client, p.hosts[0], func() { p.hosts[0].Status.Message = "hello" })
		Consistently(server.Stored(ctx, p.cluster)).Should(HaveField("ResourceVersion", written))

		By("an owner that refers to another template")
		next := ownertest.Template(namespace, "workers-2", v2Image)
		Expect(server.Client.Create(ctx, next)).To(Succeed())
		apiserver.Change(ctx, server.Client, p.deployment, func() { p.deployment.Spec.Template.Spec.InfrastructureRef.Name = next.Name })
		Eventually(p.says(ctx)).Should(Equal("NodesWaiting: 0 of 2 nodes on " + v2Image))
		rolledOut := ownertest.Rollout(next, "c1")
		Expect(server.Client.Create(ctx, rolledOut)).To(Succeed())
		apiserver.Change(ctx, server.Client, rolledOut, func() { rolledOut.Spec.ImageDigest = v2Digest })
		Eventually(p.says(ctx)).Should(Equal("NodesWaiting: 0 of 2 nodes on sha256:222222222222"))

		By("a pause, in which nothing is counted")
		apiserver.Change(ctx, server.Client, p.owner, func() { p.owner.Spec.Paused = ptr.To(true) })
		Eventually(p.says(ctx)).Should(Equal("Paused: paused, nothing is upgraded; before: 0 of 2 nodes on sha256:222222222222"))
		By("a pause of the ElementalCluster alone, which stops no attempt")
		apiserver.Change(ctx, server.Client, p.cluster, func() { p.cluster.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
		apiserver.Change(ctx, server.Client, p.owner, func() { p.owner.Spec.Paused = nil })
		Eventually(p.says(ctx)).Should(Equal("Paused: not counted while the ElementalCluster is paused; before: 0 of 2 nodes on sha256:222222222222"))
		apiserver.Change(ctx, server.Client, p.cluster, func() { delete(p.cluster.Annotations, clusterv1.PausedAnnotation) })
		Eventually(p.says(ctx)).Should(Equal("NodesWaiting: 0 of 2 nodes on sha256:222222222222"))

		By("an attempt")
		attempt := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "u1"}}
		attempt.Spec = infrav1.ElementalHostUpgradeSpec{
			ClusterName: "c1", MachineName: "m-node-1", ElementalMachineName: "m-node-1", HostName: "host-node-1",
			ImageURI: v2Image, OSVersionManagement: osversion.OfImage(v2Image),
		}
		Expect(server.Client.Create(ctx, attempt)).To(Succeed())
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() {
			attempt.Status.Step, attempt.Status.StepIndex, attempt.Status.StepCount = "Drain", 7, 14
			attempt.Status.Phase, attempt.Status.Message = infrav1.UpgradeProgressing, "3 Pods"
		})
		Eventually(p.says(ctx)).Should(Equal("NodesUpgrading: 0 of 2 nodes on sha256:222222222222, node-1 draining (7/14)"))
		written = settled(ctx, p.cluster)
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() { attempt.Status.Message = "2 Pods" })
		Consistently(server.Stored(ctx, p.cluster)).Should(HaveField("ResourceVersion", written), "what a step waits for is not in the line")

		By("its roll-back")
		apiserver.ChangeStatus(ctx, server.Client, attempt, func() { attempt.Status.Phase, attempt.Status.Message = infrav1.UpgradeRolledBack, "it did not boot" })
		Eventually(p.says(ctx)).Should(Equal("NodesHeld: 0 of 2 nodes on sha256:222222222222, node-1 rolled back: it did not boot"))

		By("hosts that run the image")
		for _, host := range p.hosts {
			apiserver.ChangeStatus(ctx, server.Client, host, func() { host.Status.OS = infrav1.HostOS{ImageURI: v2Image, Digest: v2Digest} })
		}
		Eventually(p.says(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on sha256:222222222222"))
		Expect(server.Stored(ctx, p.cluster)()).To(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason))

		By("one that was added after the tag had moved: it runs the image, which is all that is asked of it")
		apiserver.ChangeStatus(ctx, server.Client, p.hosts[1], func() { p.hosts[1].Status.OS.Digest = "sha256:3333333333333333" })
		Eventually(p.says(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on " + v2Image))

		By("one that falls back weeks later")
		apiserver.ChangeStatus(ctx, server.Client, p.hosts[1], func() { p.hosts[1].Status.OS = infrav1.HostOS{ImageURI: v1Image, Digest: v1Digest} })
		apiserver.ChangeStatus(ctx, server.Client, p.machines[1], func() {
			conditions.Set(p.machines[1], metav1.Condition{Type: infrav1.OSDriftedCondition, Status: metav1.ConditionTrue, Reason: infrav1.HostFellBackReason})
		})
		Eventually(p.says(ctx)).Should(Equal("NodesDrifted: 1 of 2 nodes on sha256:222222222222, node-2 drifted"))
		Expect(server.Stored(ctx, p.cluster)()).To(apiserver.HaveCondition(clusterv1.ReadyCondition, metav1.ConditionTrue, clusterv1.ReadyReason),
			"the infrastructure is ready whatever the nodes run")

		By("a machine that goes")
		Expect(server.Client.Delete(ctx, p.machines[1])).To(Succeed())
		Eventually(p.says(ctx)).Should(Equal("NodesUpToDate: 1 of 1 nodes on sha256:222222222222"))
	})

	It("is told of an image that is looked up, and of a host that comes into the cluster", func(ctx SpecContext) {
		p := makePool(ctx)
		Eventually(p.says(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on sha256:111111111111"))
		template := ownertest.Template(p.cluster.Namespace, "managed", "")
		template.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ManagedOSVersionName: "stable"}}
		Expect(server.Client.Create(ctx, template)).To(Succeed())
		apiserver.Change(ctx, server.Client, p.deployment, func() { p.deployment.Spec.Template.Spec.InfrastructureRef.Name = template.Name })
		Eventually(p.says(ctx)).Should(Equal("NodesWaiting: 0 of 2 nodes on ManagedOSVersion stable"))
		settled(ctx, p.cluster)
		apiserver.Change(ctx, server.Client, template, func() {
			template.Annotations = map[string]string{infrav1.ResolvedOSVersionAnnotation: fmt.Sprintf(
				`{"managedOSVersionName":"stable","imageUri":%q,"resourceVersion":"1"}`, v1Image)}
		})
		Eventually(p.says(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on sha256:111111111111"))

		By("a host that was registered again, and has reported before its machine has it again")
		apiserver.Change(ctx, server.Client, p.hosts[0], func() { delete(p.hosts[0].Labels, clusterv1.ClusterNameLabel) })
		apiserver.ChangeStatus(ctx, server.Client, p.hosts[0], func() { p.hosts[0].Status.OS = infrav1.HostOS{ImageURI: v2Image, Digest: v2Digest} })
		settled(ctx, p.cluster)
		apiserver.Change(ctx, server.Client, p.hosts[0], func() { p.hosts[0].Labels = map[string]string{clusterv1.ClusterNameLabel: "c1"} })
		Eventually(p.says(ctx)).Should(Equal("NodesWaiting: 1 of 2 nodes on sha256:111111111111"))
	})
})
