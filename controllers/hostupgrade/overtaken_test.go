// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// wantedByOwners are the real owners, as the manager asks them.
type wantedByOwners struct{}

func (wantedByOwners) Wanted(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (*hostupgrade.WantedOS, string, error) {
	want, found, err := owner.WantsOS(ctx, reader, machine)
	if err != nil || !found {
		return nil, want.Unknown(machine), err
	}
	return &hostupgrade.WantedOS{TemplateName: want.TemplateName, OSVersionHash: osversion.Hash(want.OSVersionManagement)}, "", nil
}

// lagging is a cache that has not heard of any change of a template.
type lagging struct {
	client.Client
	templates map[string]*infrav1.ElementalMachineTemplate
}

func (l lagging) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	template, isOne := object.(*infrav1.ElementalMachineTemplate)
	if known := l.templates[key.Name]; isOne && known != nil {
		known.DeepCopyInto(template)
		return nil
	}
	return l.Client.Get(ctx, key, object, options...)
}

// pointToPatched has the Machine be of a MachineDeployment that refers to the patched template. The cache of the controller does not hear of what is
// patched from here on.
func (w *world) pointToPatched(ctx context.Context) {
	GinkgoHelper()
	template := get(ctx, w, templateName, &infrav1.ElementalMachineTemplate{})
	md := ownertest.MachineDeployment(w.namespace, "md", clusterName, templateName, 1)
	Expect(live.Create(ctx, md)).To(Succeed())
	set := ownertest.MachineSet(md, "ms", templateName, 1)
	Expect(live.Create(ctx, set)).To(Succeed())
	change(ctx, w, w.host, &infrav1.ElementalMachine{}, func(machine *infrav1.ElementalMachine) {
		owner.Note(machine, templateName, wantedHash, rolloutName)
	})
	change(ctx, w, w.host, &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
		machine.OwnerReferences = ownertest.Machine(set, w.host).OwnerReferences
	})
	stale := lagging{Client: w.reconciler.Client, templates: map[string]*infrav1.ElementalMachineTemplate{templateName: template}}
	w.reconciler.Client = stale
	w.reconciler.Owners = wantedByOwners{}
}

// patchAgain stores the second patch of the template, which is not rolled out yet.
func (w *world) patchAgain(ctx context.Context) {
	GinkgoHelper()
	change(ctx, w, templateName, &infrav1.ElementalMachineTemplate{}, func(source *infrav1.ElementalMachineTemplate) {
		source.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("oci://registry.test/os:v3")
	})
}

// firstTime does something the first time only.
func firstTime(do func(ctx context.Context)) func(ctx context.Context) {
	done := false
	return func(ctx context.Context) {
		if !done {
			done = true
			do(ctx)
		}
	}
}

var _ = Describe("A template that is patched again before the host is triggered for the first patch", func() {
	const overtaken = "the owner of Machine HOST wants the OS of ElementalMachineTemplate " + templateName

	// expectOvertaken expects that nothing of the first image reaches the host, and that nothing is left of its attempt.
	expectOvertaken := func(ctx context.Context, w *world) {
		GinkgoHelper()
		Expect(w.status(ctx)).To(And(HaveField("Phase", infrav1.UpgradeSuperseded), HaveField("Message", w.inWords(overtaken))))
		Expect(w.faults.triggers).To(BeEmpty())
		Expect(w.agent.applied).To(BeEmpty())
		left := w.marks(ctx)
		left.Pin = "" // it is the former rollout's
		Expect(left).To(Equal(marks{Phase: infrav1.UpgradeSuperseded, OS: oldDigest}))
	}

	It("before its attempt is looked at", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.pointToPatched(ctx)
		w.patchAgain(ctx)
		w.drive(ctx, nil)
		expectOvertaken(ctx, w)
	})

	for _, h := range holds() {
		if h.begun || h.position == "Reboot (10/14)" {
			continue
		}
		It("at "+h.position, func(ctx SpecContext) {
			w := newWorld(ctx, h.options)
			w.pointToPatched(ctx)
			h.impose(ctx, w)
			w.drive(ctx, nil)
			Expect(w.status(ctx).Position()).To(Equal(h.position))
			w.patchAgain(ctx)
			h.lift(ctx, w)
			w.drive(ctx, nil)
			expectOvertaken(ctx, w)
		})
	}

	It("while the checks run after which the slot is taken: none is", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.pointToPatched(ctx)
		taken, cordoned := false, false
		w.faults.meanwhile = func(_ context.Context, object client.Object) {
			switch written := object.(type) {
			case *infrav1.ElementalCluster:
				taken = taken || len(written.Status.UpgradeSlots) > 0
			case *corev1.Node:
				cordoned = cordoned || written.Spec.Unschedulable
			}
		}
		w.owners.meanwhile = firstTime(w.patchAgain)
		w.drive(ctx, nil)
		expectOvertaken(ctx, w)
		Expect(taken).To(BeFalse())
		Expect(cordoned).To(BeFalse())
	})

	It("while the node is cordoned", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.pointToPatched(ctx)
		again := firstTime(w.patchAgain)
		w.faults.meanwhile = func(ctx context.Context, object client.Object) {
			if node, isNode := object.(*corev1.Node); isNode && node.Spec.Unschedulable {
				again(ctx)
			}
		}
		w.drive(ctx, nil)
		expectOvertaken(ctx, w)
	})

	It("while the checks run after which the host is triggered", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.pointToPatched(ctx)
		again := firstTime(w.patchAgain)
		w.owners.meanwhile = func(ctx context.Context) {
			if w.marks(ctx).Unschedulable {
				again(ctx)
			}
		}
		w.drive(ctx, nil)
		expectOvertaken(ctx, w)
	})

	It("at the very moment of the trigger, which is taken back while the host has not begun", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.pointToPatched(ctx)
		again := firstTime(w.patchAgain)
		w.faults.meanwhile = func(ctx context.Context, object client.Object) {
			if host, isHost := object.(*infrav1.ElementalHost); isHost && host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending {
				again(ctx)
			}
		}
		w.agent.stopAt = infrav1.HostUpgradeFetched
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeSuperseded))
		Expect(w.agent.applied).To(BeEmpty())
	})
})
