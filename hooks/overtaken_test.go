// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// The owner was pointed to a clone of a template that is patched again. Until it is at a quiet point it refers to the former image, and Cluster
// API starts updates to that.
var _ = Describe("UpdateMachine to the clone of a template that was patched again", func() {
	const lastImage = "oci:registry/os:3"
	var (
		w      *worker
		source *infrav1.ElementalMachineTemplate
	)
	BeforeEach(func() {
		w = newWorker()
		source = ownertest.Template(w.namespace, "source", newImage)
		plane.Create(ctx, source)
		clone := &infrav1.ElementalMachineTemplate{}
		Expect(c.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "new"}, clone)).To(Succeed())
		clone.Labels = map[string]string{infrav1.SourceTemplateLabel: "source"}
		Expect(c.Update(ctx, clone)).To(Succeed())
		w.md.Annotations = map[string]string{infrav1.RolloutCloneAnnotation: "new"}
		Expect(c.Update(ctx, w.md)).To(Succeed())
	})
	patch := func(image string) {
		GinkgoHelper()
		source.Spec.Template.Spec.OSVersionManagement = ownertest.OS(image)
		Expect(c.Update(ctx, source)).To(Succeed())
	}

	It("starts no attempt, and is done so that Cluster API moves on", func() {
		patch(lastImage)
		Expect(w.call()).To(beDone())
		Expect(w.upgrades()).To(BeEmpty())
	})

	It("starts one if the template was patched back before", func() {
		patch(lastImage)
		patch(newImage)
		Expect(w.call()).To(beInProgress("Upgrade requested"))
		Expect(w.upgrades()).To(HaveLen(1))
	})

	It("is done when the attempt for it is superseded, and starts another if the template is patched back", func() {
		w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeSuperseded})
		patch(lastImage)
		Expect(w.call()).To(beDone())
		patch(newImage)
		Expect(w.call()).To(beInProgress("Upgrade requested"))
		Expect(w.upgrades()).To(BeEmpty(), "the superseded one made room")
		Expect(w.call()).To(beInProgress("Upgrade requested"))
		Expect(w.upgrades()).To(HaveLen(1))
	})
})
