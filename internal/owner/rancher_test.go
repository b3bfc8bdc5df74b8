// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

const (
	imageA = "oci:registry/os:a"
	imageB = "oci:registry/os:b"
)

// pool of a Cluster "c" that Rancher has provisioned, which refers to template "t", with a clone "t-clone" of that and a template "other".
type pool struct {
	cluster   *clusterv1.Cluster
	md        *clusterv1.MachineDeployment
	set       *clusterv1.MachineSet
	machine   *clusterv1.Machine
	elemental *infrav1.ElementalMachine
}

// newPool whose machine has been assigned a template by driver RancherDrain; empty if none.
func newPool(driver infrav1.UpgradeDriver, assigned string) *pool {
	GinkgoHelper()
	namespace := plane.NewNamespace(ctx)
	cluster, elemental := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{Driver: driver})
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: rancher.Group, Kind: rancher.ControlPlaneKind, Name: "c"}
	p := &pool{cluster: cluster, md: ownertest.MachineDeployment(namespace, "md", "c", "t", 1)}
	clone := ownertest.Template(namespace, "t-clone", imageB)
	clone.Labels = map[string]string{infrav1.SourceTemplateLabel: "t"}
	plane.Create(ctx, cluster, elemental, ownertest.Template(namespace, "t", imageA), clone, ownertest.Template(namespace, "other", imageB), p.md)
	p.set = ownertest.MachineSet(p.md, "ms", "t", 1)
	plane.Create(ctx, p.set)
	p.machine = ownertest.Machine(p.set, "m")
	p.machine.Labels = maps.Clone(p.set.Labels)
	p.machine.Labels["rke.cattle.io/cluster-name"] = "c"
	plane.Create(ctx, p.machine)
	p.elemental = ownertest.ElementalMachine(namespace, "m", "t", imageA)
	if assigned != "" {
		p.elemental.Annotations[infrav1.DirectTemplateAnnotation] = assigned
	}
	plane.Create(ctx, p.elemental)
	return p
}

var _ = DescribeTable("The driver of a pool of Rancher", func(driver infrav1.UpgradeDriver, expected types.GomegaMatcher) {
	p := newPool(driver, "")
	Expect(ownersAt(0).DriverOf(ctx, p.machine)).To(expected)
	Expect(ownersAt(0).DriverOfOwner(ctx, owner.ForMachineDeployment(p.md))).To(expected)
},
	Entry("by default", infrav1.UpgradeDriver(""), by(infrav1.DriverRancherDrain, "MachineDeployment md")),
	Entry("by choice", infrav1.DriverAuto, by(infrav1.DriverRancherDrain, "MachineDeployment md")),
	Entry("by name", infrav1.DriverRancherDrain, by(infrav1.DriverRancherDrain, "MachineDeployment md")),
	Entry("is none where Cluster API is to upgrade", infrav1.DriverClusterAPI, noneFor("ClusterAPI")),
	Entry("is none where this provider is to upgrade by itself", infrav1.DriverDirect, noneFor("Direct")),
)

func noneFor(option string) types.GomegaMatcher {
	return And(HaveField("Driver", infrav1.UpgradeDriver("")), HaveField("Problem", "MachineDeployment md belongs to Cluster c, which Rancher has provisioned, and driver is "+
		option+" in spec.nodeUpgradeOption of ElementalCluster c: the Machines keep their OS. Set driver Auto or RancherDrain"))
}

var _ = It("The driver of a MachineDeployment in another Cluster is Cluster API, or Direct by choice", func() {
	for driver, expected := range map[infrav1.UpgradeDriver]infrav1.UpgradeDriver{
		infrav1.DriverAuto: infrav1.DriverClusterAPI, infrav1.DriverRancherDrain: infrav1.DriverClusterAPI, infrav1.DriverDirect: infrav1.DriverDirect,
	} {
		p := newPool(driver, "")
		change(p.cluster, func() { p.cluster.Spec.ControlPlaneRef.Kind = "RKE2ControlPlane" })
		Expect(ownersAt(0).DriverOf(ctx, p.machine)).To(by(expected, "MachineDeployment md"))
		Expect(c.Delete(ctx, p.cluster)).To(Succeed())
		Expect(ownersAt(0).DriverOfOwner(ctx, owner.ForMachineDeployment(p.md))).To(by(infrav1.DriverClusterAPI, "MachineDeployment md"))
	}
})

var _ = DescribeTable("A Machine of a pool of Rancher wants", func(assigned, image string, changes ...func(*pool)) {
	p := newPool(infrav1.DriverAuto, assigned)
	for _, change := range changes {
		change(p)
	}
	want, found, err := ownersAt(0).WantsOSNow(ctx, p.machine)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeTrue())
	Expect(osversion.Same(want.OSVersionManagement, ownertest.OS(image))).To(BeTrue())
},
	Entry("what its pool refers to, if it is assigned nothing", "", imageA),
	Entry("the same, if that is assigned", "t", imageA),
	Entry("a clone of that", "t-clone", imageB, func(p *pool) {
		template := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: p.md.Namespace, Name: "t"}}
		Expect(c.Get(ctx, client.ObjectKeyFromObject(template), template)).To(Succeed())
		change(template, func() { template.Spec.Template.Spec.OSVersionManagement = ownertest.OS(imageB) })
	}),
	Entry("what it refers to, if that has another OS than its clone by now", "t-clone", imageA),
	Entry("no template of another family", "other", imageA),
	Entry("no template that does not exist", "gone", imageA),
	Entry("no clone of another template than its pool refers to by now", "t-clone", imageB, func(p *pool) {
		change(p.md, func() { p.md.Spec.Template.Spec.InfrastructureRef.Name = "other" })
	}),
	Entry("the same, if Rancher has no part in it", "other", imageA, notOfRancher),
	Entry("a clone of what its pool refers to a clone of", "t-clone", imageB, notOfRancher, func(p *pool) {
		older := ownertest.Template(p.md.Namespace, "t-older", imageA)
		older.Labels = map[string]string{infrav1.SourceTemplateLabel: "t"}
		plane.Create(ctx, older)
		template := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: p.md.Namespace, Name: "t"}}
		Expect(c.Get(ctx, client.ObjectKeyFromObject(template), template)).To(Succeed())
		change(template, func() { template.Spec.Template.Spec.OSVersionManagement = ownertest.OS(imageB) })
		change(p.md, func() { p.md.Spec.Template.Spec.InfrastructureRef.Name = "t-older" })
	}),
	Entry("what its pool refers to while Cluster API updates it", "t-clone", imageA, func(p *pool) {
		change(p.machine, func() { metav1.SetMetaDataAnnotation(&p.machine.ObjectMeta, clusterv1.UpdateInProgressAnnotation, "") })
	}),
)

func notOfRancher(p *pool) {
	GinkgoHelper()
	change(p.machine, func() { delete(p.machine.Labels, "rke.cattle.io/cluster-name") })
}

var _ = DescribeTable("A pool rolls a Machine out", func(expected string, changes ...func(*pool)) {
	p := newPool(infrav1.DriverAuto, "")
	for _, change := range changes {
		change(p)
	}
	Expect(owner.RollsOut(ctx, c, p.machine, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))).To(Equal(expected))
},
	Entry("not while it refers to the template that the Machine is of", ""),
	Entry("not by condition UpToDate, which is False on all of them", "", notUpToDate),
	Entry("when it refers to another template", "MachineDeployment md rolls out another change: MachineSet ms has spec.infrastructureRef ElementalMachineTemplate t, ElementalMachineTemplate other required", refersToOther),
	Entry("not without its MachineSet", "", func(p *pool) { Expect(c.Delete(ctx, p.set)).To(Succeed()) }),
	Entry("not without its MachineDeployment", "", func(p *pool) { Expect(c.Delete(ctx, p.md)).To(Succeed()) }),
	Entry("when it wants another version", "MachineDeployment md rolls out another change: MachineSet ms has spec.version , v1.99.0 required",
		func(p *pool) { change(p.md, func() { p.md.Spec.Template.Spec.Version = "v1.99.0" }) }),
	Entry("when rollout.after has come", "MachineDeployment md replaces its Machines after 2099-01-01T00:00:00Z, by its spec.rollout.after", rollsOutAfter(2099)),
	Entry("not when that is later", "", rollsOutAfter(2101)),
	Entry("not of a MachineSet of its own", "", func(p *pool) { change(p.set, func() { p.set.OwnerReferences = nil }) }, refersToOther),
)

// rollsOutAfter the first moment of a year.
func rollsOutAfter(year int) func(*pool) {
	return func(p *pool) {
		change(p.md, func() { p.md.Spec.Rollout.After = metav1.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) })
	}
}

func notUpToDate(p *pool) { set(p.machine, clusterv1.MachineUpToDateCondition, metav1.ConditionFalse) }

func refersToOther(p *pool) {
	GinkgoHelper()
	change(p.md, func() { p.md.Spec.Template.Spec.InfrastructureRef.Name = "other" })
}

// change an object as it is known.
func change(object client.Object, how func()) {
	GinkgoHelper()
	base, _ := object.DeepCopyObject().(client.Object)
	how()
	Expect(c.Patch(ctx, object, client.MergeFrom(base))).To(Succeed())
}
