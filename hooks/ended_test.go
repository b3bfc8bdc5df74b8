// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("UpdateMachine", func() {
	var w *worker
	BeforeEach(func() { w = newWorker() })

	Describe("of an attempt that succeeded", func() {
		BeforeEach(func() {
			w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeSucceeded, Digest: "sha256:2"})
		})
		It("is done when the host runs that digest", func() {
			w.boots(infrav1.HostOS{ImageURI: newImage, BootMode: "active", Digest: "sha256:2"})
			Expect(w.call()).To(beDone())
		})
		It("is not judged before the host has been heard of", func() {
			w.host.Status = infrav1.ElementalHostStatus{}
			Expect(c.Status().Update(ctx, w.host)).To(Succeed())
			Expect(w.call()).To(beInProgress("Waiting for the elemental-agent of ElementalHost h to answer"))
			Expect(w.upgrades()).To(HaveLen(1))
		})
		It("is history when the host runs something else", func() {
			former := w.attempt().UID
			Expect(w.call()).To(beInProgress("Upgrade requested"))
			Expect(w.upgrades()).To(BeEmpty())
			Expect(w.call()).To(beInProgress("Upgrade requested"))
			Expect(w.attempt().UID).NotTo(Equal(former))
		})
	})

	Describe("of an attempt that was made up, succeeded, and declares the wanted OS,", func() {
		madeUp := func(name string) *infrav1.ElementalHostUpgrade {
			return &infrav1.ElementalHostUpgrade{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{infrav1.MachineNameLabel: "m"}},
				Spec: infrav1.ElementalHostUpgradeSpec{ClusterName: "c", MachineName: "m", ElementalMachineName: "m", HostName: "h", ImageURI: oldImage,
					OSVersionManagement: osversion.OfImage(oldImage)},
				Status: infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeSucceeded, Digest: "sha256:2"},
			}
		}
		ended := func(attempt *infrav1.ElementalHostUpgrade) {
			GinkgoHelper()
			status := attempt.Status
			plane.Create(ctx, attempt)
			attempt.Status = status
			Expect(c.Status().Update(ctx, attempt)).To(Succeed())
		}
		BeforeEach(func() {
			w.boots(infrav1.HostOS{ImageURI: newImage, BootMode: "active", Digest: "sha256:2"})
		})

		It("is not done under another name, where the booted image is not all that is wanted", func() {
			template := ownertest.Template(w.namespace, "with-recovery", newImage)
			template.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ImageURI: "oci:registry/os:2", UpgradeRecovery: ptr.To(true)}}
			w.wants(template)
			w.elemental.Spec.OSVersionManagement = template.Spec.Template.Spec.OSVersionManagement
			ended(madeUp("other"))
			Expect(w.call()).To(beInProgress("Upgrade requested"))
		})
		It("is not done under the wanted name: another follows it", func() {
			attempt := madeUp(w.attemptName())
			ended(attempt)
			Expect(w.call()).To(beInProgress("Upgrade requested"))
			Expect(w.upgrades()).To(BeEmpty())
		})
		It("does not stop at one that failed under the wanted name: another follows it", func() {
			w.boots(infrav1.HostOS{ImageURI: oldImage, BootMode: "active"})
			attempt := madeUp(w.attemptName())
			attempt.Status.Phase = infrav1.UpgradeFailed
			ended(attempt)
			Expect(w.call()).To(beInProgress("Upgrade requested"))
			Expect(w.upgrades()).To(BeEmpty())
		})
	})

	Describe("of an attempt whose rollout is not current any more, because its template was patched", func() {
		patch := func() {
			GinkgoHelper()
			template := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "new"}}
			apiserver.Change(ctx, c, template, func() { template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("oci:registry/os:3") })
			next := ownertest.Rollout(template, "c")
			next.Name, next.Spec.Revision = "next", 2
			plane.Create(ctx, next)
		}

		It("is not done while the attempt has ended badly, and says so", func() {
			w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeRolledBack, Message: "booted snapshot 1"})
			patch()
			Expect(ask(w.machine, w.elemental)).To(beInProgress("RolledBack: booted snapshot 1"))
		})
		It("is done once the attempt is superseded", func() {
			w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeSuperseded})
			patch()
			Expect(ask(w.machine, w.elemental)).To(beDone())
		})
	})

	It("is done of a Machine without an attempt, where nothing is recorded of its template and its owner refers to another one of the same OS", func() {
		w.wants(ownertest.Template(w.namespace, "next", newImage))
		Expect(ask(w.machine, w.elemental)).To(beDone())
	})

	Describe("of an attempt that was superseded", func() {
		BeforeEach(func() { w.attemptIs(infrav1.ElementalHostUpgradeStatus{Phase: infrav1.UpgradeSuperseded}) })

		It("is done, so that Cluster API starts with what the owner wants now", func() {
			w.wants(ownertest.Template(w.namespace, "next", "oci:registry/os:3"))
			Expect(w.call()).To(beDone())
		})
		It("is done where the owner wants the same OS of another template", func() {
			w.wants(ownertest.Template(w.namespace, "next", newImage))
			Expect(w.call()).To(beDone())
		})
		It("is done where the template has another OS by now", func() {
			template := &infrav1.ElementalMachineTemplate{}
			Expect(c.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "new"}, template)).To(Succeed())
			template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("oci:registry/os:3")
			Expect(c.Update(ctx, template)).To(Succeed())
			Expect(w.call()).To(beDone())
		})
		It("is recreated when the owner has returned to it", func() {
			Expect(w.call()).To(beInProgress("Upgrade requested"))
			Expect(w.upgrades()).To(BeEmpty())
		})
	})
})
