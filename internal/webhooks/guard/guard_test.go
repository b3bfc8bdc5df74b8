// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// pool is a MachineDeployment of three Machines on template "old", at rest.
type pool struct {
	md *clusterv1.MachineDeployment
	on map[string]*clusterv1.MachineSet
}

// newPool is of a cluster whose Machines may be replaced: the preconditions for in-place updates are not met here.
func newPool() *pool {
	GinkgoHelper()
	return newPoolWith(infrav1.NodeUpgradeOption{Replacement: infrav1.ReplacementAllow})
}

func newPoolWith(options infrav1.NodeUpgradeOption) *pool {
	GinkgoHelper()
	p := &pool{md: ownertest.MachineDeployment(plane.NewNamespace(ctx), "md", "c", "old", 3), on: map[string]*clusterv1.MachineSet{}}
	cluster, elemental := ownertest.Cluster(p.md.Namespace, "c", options)
	plane.Create(ctx, cluster, elemental, p.md)
	ownertest.Observe(ctx, c, p.md, 3)
	p.has("old", 3, 3)
	return p
}

// has makes the MachineSet of a template have Machines, of which Cluster API wants some.
func (p *pool) has(template string, wanted, present int32) {
	GinkgoHelper()
	set := p.on[template]
	if set == nil {
		set = ownertest.MachineSet(p.md, "ms-"+template, template, wanted)
		plane.Create(ctx, set)
		p.on[template] = set
	} else if ptr.Deref(set.Spec.Replicas, 0) != wanted {
		set.Spec.Replicas = ptr.To(wanted)
		Expect(c.Update(ctx, set)).To(Succeed())
	}
	ownertest.Observe(ctx, c, set, present)
}

// goTo changes the reference, as a person or a GitOps tool does.
func (p *pool) goTo(template string) error {
	base := p.md.DeepCopy()
	p.md.Spec.Template.Spec.InfrastructureRef.Name = template
	err := c.Patch(ctx, p.md, client.MergeFrom(base))
	if err != nil {
		p.md = base
	}
	return err
}

// updating makes one Machine of a template's MachineSet be updated.
func (p *pool) updating(template string) *clusterv1.Machine {
	GinkgoHelper()
	machine := ownertest.Machine(p.on[template], "m")
	plane.Create(ctx, machine)
	annotate(machine, clusterv1.UpdateInProgressAnnotation)
	return machine
}

func beDenied(parts ...string) OmegaMatcher {
	matchers := []OmegaMatcher{WithTransform(apierrors.IsForbidden, BeTrue())}
	for _, part := range parts {
		matchers = append(matchers, MatchError(ContainSubstring(part)))
	}
	return And(matchers...)
}

var _ = Describe("The guard", func() {
	var p *pool
	BeforeEach(func() { p = newPool() })

	It("permits a change at rest", func() {
		Expect(p.goTo("new")).To(Succeed())
	})

	It("denies a second change within moments of the first (finding 7b)", func() {
		Expect(p.goTo("bad")).To(Succeed())
		Expect(p.goTo("good")).To(beDenied("MachineDeployment md was changed and has not been acted on yet", "Retry"))

		By("while the old MachineSet is scaled down already")
		ownertest.Observe(ctx, c, p.md, 3)
		p.has("bad", 0, 0)
		p.has("old", 2, 3)
		Expect(p.goTo("good")).To(beDenied("MachineSet ms-old has 3 Machines and is to have 2"))

		By("while the moved Machine is not counted yet")
		p.has("old", 2, 2)
		p.has("bad", 1, 1)
		machine := ownertest.Machine(p.on["bad"], "moved")
		plane.Create(ctx, machine)
		annotate(machine, clusterv1.PendingAcknowledgeMoveAnnotation)
		Expect(p.goTo("good")).To(beDenied("Machine moved is being moved to another MachineSet"))
	})

	It("permits fix-forward to a fresh name while a Machine is being updated, and denies the return to the bad one (finding 7a)", func() {
		Expect(p.goTo("bad")).To(Succeed())
		ownertest.Observe(ctx, c, p.md, 3)
		p.has("old", 2, 2)
		p.has("bad", 1, 1)
		p.updating("bad")
		Expect(p.goTo("good")).To(Succeed())

		By("Cluster API wants to take the updated Machine from the bad MachineSet")
		ownertest.Observe(ctx, c, p.md, 3)
		p.has("good", 0, 0)
		p.has("bad", 0, 1)
		Expect(p.goTo("bad")).To(beDenied("MachineSet ms-bad has 1 Machines and is to have 0", "Updating condition"))
	})

	It("permits to take a rollout back while a Machine is being updated, and denies it in between Machines", func() {
		Expect(p.goTo("bad")).To(Succeed())
		ownertest.Observe(ctx, c, p.md, 3)
		p.has("old", 2, 2)
		p.has("bad", 1, 1)
		Expect(p.goTo("old")).To(beDenied("MachineSet ms-old of ElementalMachineTemplate old is half rolled out (2 of 3 Machines)", "under a name that was not used before"))
		p.updating("bad")
		Expect(p.goTo("old")).To(Succeed())
	})

	It("denies fix-forward to a fresh name in between two Machines, too", func() {
		Expect(p.goTo("bad")).To(Succeed())
		ownertest.Observe(ctx, c, p.md, 3)
		p.has("old", 2, 2)
		p.has("bad", 1, 1)
		Expect(p.goTo("good")).To(beDenied(
			"MachineDeployment md is in the middle of a rollout, and Cluster API is about to take the next Machine from MachineSet ms-old",
			"or patch the ElementalMachineTemplate, which changes no reference"))

		By("after the last one")
		p.has("old", 0, 0)
		p.has("bad", 3, 3)
		Expect(p.goTo("good")).To(Succeed())
	})

	It("denies to pause a rollout in the moments in which that deletes a Machine", func() {
		pause := func(is bool) error {
			base := p.md.DeepCopy()
			p.md.Spec.Paused = ptr.To(is)
			err := c.Patch(ctx, p.md, client.MergeFrom(base))
			if err != nil {
				p.md = base
			}
			return err
		}
		again := func() {
			Expect(pause(false)).To(Succeed())
			ownertest.Observe(ctx, c, p.md, 3)
		}
		Expect(pause(true)).To(Succeed(), "at rest")
		again()
		Expect(p.goTo("bad")).To(Succeed())
		ownertest.Observe(ctx, c, p.md, 3)
		p.has("bad", 0, 0)
		Expect(pause(true)).To(beDenied("spec.paused cannot be set now: MachineDeployment md is in the middle of a rollout", "Retry in a few seconds"))
		p.has("old", 2, 3)
		Expect(pause(true)).To(beDenied("MachineSet ms-old has 3 Machines and is to have 2"))
		p.has("old", 2, 2)
		p.has("bad", 1, 1)
		machine := p.updating("bad")
		annotate(machine, clusterv1.PendingAcknowledgeMoveAnnotation)
		Expect(pause(true)).To(beDenied("Machine m is being moved to another MachineSet"))
		annotate(machine, clusterv1.UpdateInProgressAnnotation)
		delete(machine.Annotations, clusterv1.PendingAcknowledgeMoveAnnotation)
		Expect(c.Update(ctx, machine)).To(Succeed())
		Expect(pause(true)).To(Succeed(), "while one is being updated")
		Expect(pause(true)).To(Succeed(), "it is paused already")
	})

	It("is not asked about anything else", func() {
		p.has("old", 2, 3)
		base := p.md.DeepCopy()
		p.md.Spec.Replicas = ptr.To[int32](5)
		p.md.Spec.Template.Spec.Version = "v1.37.0"
		Expect(c.Patch(ctx, p.md, client.MergeFrom(base))).To(Succeed())
	})

	It("leaves other providers alone", func() {
		md := ownertest.MachineDeployment(plane.NewNamespace(ctx), "md", "c", "a", 1)
		md.Spec.Template.Spec.InfrastructureRef.Kind = "OtherMachineTemplate"
		plane.Create(ctx, md)
		for _, name := range []string{"b", "c"} {
			base := md.DeepCopy()
			md.Spec.Template.Spec.InfrastructureRef.Name = name
			Expect(c.Patch(ctx, md, client.MergeFrom(base))).To(Succeed())
		}
	})

	It("is asked about a change away from our kind, too", func() {
		p.has("old", 2, 3)
		base := p.md.DeepCopy()
		p.md.Spec.Template.Spec.InfrastructureRef.Kind = "OtherMachineTemplate"
		Expect(c.Patch(ctx, p.md, client.MergeFrom(base))).To(beDenied("ms-old"))
	})

	It("keeps a control plane from the template of an update that has not ended", func() {
		namespace := plane.NewNamespace(ctx)
		kcp := ownertest.KubeadmControlPlane(namespace, "cp", "c", "good")
		plane.Create(ctx, kcp)
		ownertest.Observe(ctx, c, kcp, 3)
		machine := ownertest.ControlPlaneMachine(kcp, "m")
		plane.Create(ctx, machine, ownertest.ElementalMachine(namespace, "m", "bad", "x"))
		annotate(machine, clusterv1.UpdateInProgressAnnotation)
		base := kcp.DeepCopy()
		changed := kcp.DeepCopy()
		changed.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "bad"
		Expect(c.Patch(ctx, changed, client.MergeFrom(base))).To(beDenied("Machine m is still being updated to ElementalMachineTemplate bad"))
		changed = kcp.DeepCopy()
		changed.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "better"
		Expect(c.Patch(ctx, changed, client.MergeFrom(base))).To(Succeed())
	})
})
