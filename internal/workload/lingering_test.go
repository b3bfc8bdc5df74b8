// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	finalizer = "example.com/kept"
	release   = ` --type merge --patch '{"metadata":{"finalizers":null}}'`
)

var _ = Describe("What does not leave a Node", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	blocker := func(ctx SpecContext) string {
		GinkgoHelper()
		drained, blocker := w.drain(ctx)
		Expect(drained).To(BeFalse())
		return blocker
	}
	keptByFinalizer := func(pod *corev1.Pod) { pod.Finalizers = []string{finalizer} }
	letGo := func(object client.Object) {
		DeferCleanup(func(ctx SpecContext) error {
			return client.IgnoreNotFound(server.Client.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
		})
	}

	It("is named with the command that clears it: a Pod with a finalizer", func(ctx SpecContext) {
		w.addPod(ctx, "web-1", keptByFinalizer)
		letGo(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web-1"}})
		Expect(blocker(ctx)).To(BeEmpty(), "it may take its time")
		blocker(ctx) // which sees that it is being deleted
		w.late = 3 * time.Minute
		Expect(blocker(ctx)).To(Equal("Pod " + w.namespace + "/web-1 is kept by finalizers " + finalizer + ": bring back what removes them, or " +
			"kubectl --namespace " + w.namespace + " patch pod web-1" + release + "; 1 being deleted"))
	})

	It("is named with the command that clears it: a Pod that its kubelet does not end", func(ctx SpecContext) {
		w.addPod(ctx, "web-1", takesItsTime)
		blocker(ctx)
		blocker(ctx) // which sees that it is being deleted
		w.late = 3 * time.Minute
		force := "kubectl --namespace " + w.namespace + " delete pod web-1 --grace-period 0 --force"
		Expect(blocker(ctx)).To(And(HavePrefix("Pod "+w.namespace+"/web-1 was to have ended and has not: "), ContainSubstring(force)))

		node := w.readNode(ctx)
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		Expect(server.Client.Status().Update(ctx, node)).To(Succeed())
		Expect(blocker(ctx)).To(And(ContainSubstring("the kubelet of Node "+w.node+" does not answer"), ContainSubstring(force)))
	})

	It("is named, a few of many", func(ctx SpecContext) {
		for _, name := range []string{"web-1", "web-2", "web-3", "web-4", "web-5"} {
			w.addPod(ctx, name, takesItsTime)
		}
		blocker(ctx)
		blocker(ctx) // which sees that they are being deleted
		w.late = 3 * time.Minute
		Expect(blocker(ctx)).To(And(ContainSubstring("/web-3 was to have ended"), ContainSubstring("2 more have not ended in time"),
			Not(ContainSubstring("web-4"))))
	})

	It("is named with the command that clears it: a volume whose Pod does not end", func(ctx SpecContext) {
		w.addPod(ctx, "db-1", ownedBy("DaemonSet", "db"), withClaim("data"), takesItsTime)
		w.attach(ctx, "pv-1", "data", storagev1.VolumeAttachmentStatus{Attached: true})
		Expect(server.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "db-1"}})).To(Succeed())
		Expect(w.attached(ctx)).To(HaveExactElements(w.namespace + "-pv-1"))
		w.late = 3 * time.Minute
		Expect(w.attached(ctx)).To(HaveExactElements(And(HavePrefix(w.namespace+"-pv-1 (Pod "+w.namespace+"/db-1 "), ContainSubstring("delete pod db-1"))))
	})

	It("is named with the command that clears it: a volume whose CSI driver fails, or is gone", func(ctx SpecContext) {
		name := w.namespace + "-pv-1"
		w.attach(ctx, "pv-1", "", storagev1.VolumeAttachmentStatus{Attached: true, DetachError: &storagev1.VolumeError{Message: "timed out"}})
		attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(w.attached(ctx)).To(HaveExactElements(name + " (detaching it fails: kubectl describe volumeattachment " + name + ")"))

		Expect(server.Client.Patch(ctx, attachment, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["external-attacher/csi-test"]}}`)))).To(Succeed())
		letGo(attachment)
		Expect(server.Client.Delete(ctx, attachment)).To(Succeed())
		Expect(w.attached(ctx)).To(HaveExactElements(ContainSubstring("detaching it fails")), "it may take its time")
		w.late = 7 * time.Minute
		Expect(w.attached(ctx)).To(HaveExactElements(name + " (CSI driver csi.test does not detach it: bring that back or, if it is gone for good, " +
			"kubectl patch volumeattachment " + name + release + ")"))
	})
})
