// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ends_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// stopAgent stops the agent, with its children.
func stopAgent(ctx context.Context, u *upgrade) func(context.Context) {
	GinkgoHelper()
	Expect(u.host.StopAgent(ctx)).To(Succeed())
	return func(ctx context.Context) {
		GinkgoHelper()
		Expect(u.host.StartAgent(ctx)).To(Succeed())
	}
}

// takeSlot gives the only slot of the cluster to an attempt that has ended, which keeps it as long as it exists.
func takeSlot(ctx context.Context, _ *upgrade) func(context.Context) {
	GinkgoHelper()
	other := &infrav1.ElementalHostUpgrade{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: "of-another-host"},
		Spec: infrav1.ElementalHostUpgradeSpec{
			ClusterName: cluster.Options.Name, MachineName: "another", ElementalMachineName: "another", HostName: "another", ImageURI: "oci://another",
			OSVersionManagement: infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{}},
		},
	}
	Expect(theLab.Kube.Create(ctx, other)).To(Succeed())
	Eventually(func(ctx context.Context) (infrav1.UpgradePhase, error) {
		err := theLab.Kube.Get(ctx, client.ObjectKeyFromObject(other), other)
		return other.Status.Phase, err
	}).WithContext(ctx).Should(Equal(infrav1.UpgradeAborted))
	owner := &infrav1.ElementalCluster{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: cluster.Options.Name}}
	slots := func(ctx context.Context, slots ...infrav1.UpgradeSlot) {
		GinkgoHelper()
		Expect(theLab.Kube.Get(ctx, client.ObjectKeyFromObject(owner), owner)).To(Succeed())
		before := owner.DeepCopy()
		owner.Status.UpgradeSlots = slots
		Expect(theLab.Kube.Status().Patch(ctx, owner, client.MergeFrom(before))).To(Succeed())
	}
	slots(ctx, infrav1.UpgradeSlot{Attempt: other.Status.Attempt, Upgrade: other.Name})
	return func(ctx context.Context) {
		GinkgoHelper()
		slots(ctx)
		Expect(theLab.Kube.Delete(ctx, other)).To(Succeed())
	}
}

// refuseNode makes the workload cluster reject updates of Nodes for which the expression is false.
func refuseNode(name, message, expression string) func(context.Context, *upgrade) func(context.Context) {
	return func(ctx context.Context, u *upgrade) func(context.Context) {
		GinkgoHelper()
		return refuse(ctx, theLab.WorkloadKube, policy{name: name, group: "", resource: "nodes", expression: expression, message: message},
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: u.worker.Node}})
	}
}

// refuseTrigger makes the management cluster reject the trigger of hosts.
func refuseTrigger(ctx context.Context, u *upgrade) func(context.Context) {
	GinkgoHelper()
	is := func(object string) string {
		return "(has(" + object + ".metadata.labels) && '" + infrav1.InPlaceUpgradeLabel + "' in " + object + ".metadata.labels)"
	}
	return refuse(ctx, theLab.Kube, policy{
		name: "no-trigger", group: infrav1.GroupVersion.Group, resource: "elementalhosts",
		expression: "!" + is("object") + " || " + is("oldObject"), message: "the trigger is refused",
	}, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: u.host.Name()}})
}

// policy for updates of a resource.
type policy struct{ name, group, resource, expression, message string }

// refuse creates an admission policy and waits until it is enforced: until it rejects an update that adds its
// annotation to the probe.
func refuse(ctx context.Context, kube client.Client, p policy, probe client.Object) func(context.Context) {
	GinkgoHelper()
	const annotation = "probe-of-policy"
	rules := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: p.name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{p.group}, APIVersions: []string{"*"}, Resources: []string{p.resource}},
			},
		}}},
		Validations: []admissionv1.Validation{
			{Expression: p.expression, Message: p.message},
			{Expression: "!has(object.metadata.annotations) || !('" + annotation + "' in object.metadata.annotations)", Message: annotation},
		},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: p.name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	Expect(kube.Create(ctx, rules)).To(Succeed())
	Expect(kube.Create(ctx, binding)).To(Succeed())
	update := func(ctx context.Context) error {
		patch := []byte(`{"metadata":{"annotations":{"` + annotation + `":""}}}`)
		return kube.Patch(ctx, probe.DeepCopyObject().(client.Object), client.RawPatch("application/merge-patch+json", patch), client.DryRunAll)
	}
	Eventually(update).WithContext(ctx).Should(MatchError(ContainSubstring(annotation)), "the policy is in force")
	return func(ctx context.Context) {
		GinkgoHelper()
		Expect(kube.Delete(ctx, binding)).To(Succeed())
		Expect(kube.Delete(ctx, rules)).To(Succeed())
		Eventually(update).WithContext(ctx).Should(Succeed(), "the policy is not in force any more")
	}
}

// forbidEvictions keeps the Pods on the node, with a PodDisruptionBudget that never allows an eviction.
func forbidEvictions(ctx context.Context, _ *upgrade) func(context.Context) {
	GinkgoHelper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "all-of-web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromString("100%")), Selector: suite.Web(webPods).Spec.Selector,
		},
	}
	Expect(cluster.AwaitWeb(ctx)).To(Succeed())
	Expect(theLab.WorkloadKube.Create(ctx, budget)).To(Succeed())
	Eventually(func(ctx context.Context) (int32, error) {
		err := theLab.WorkloadKube.Get(ctx, client.ObjectKeyFromObject(budget), budget)
		return budget.Status.ExpectedPods, err
	}).WithContext(ctx).Should(BeEquivalentTo(webPods), "the budget counts")
	return deleted(budget)
}

// deleted lifts a hold by deleting an object of the workload cluster.
func deleted(object client.Object) func(context.Context) {
	return func(ctx context.Context) {
		GinkgoHelper()
		Expect(theLab.WorkloadKube.Delete(ctx, object)).To(Succeed())
	}
}

func attachVolume(ctx context.Context, u *upgrade) func(context.Context) {
	GinkgoHelper()
	return attach(ctx, u, "pv-attached", storagev1.VolumeAttachmentStatus{Attached: true})
}

func failAttachment(ctx context.Context, u *upgrade) func(context.Context) {
	GinkgoHelper()
	return attach(ctx, u, "pv-failing", storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "timed out"}})
}

// attach simulates the CSI driver.
func attach(ctx context.Context, u *upgrade, volume string, status storagev1.VolumeAttachmentStatus) func(context.Context) {
	GinkgoHelper()
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: volume}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "csi.example.com", NodeName: u.worker.Node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
	}}
	Expect(theLab.WorkloadKube.Create(ctx, attachment)).To(Succeed())
	attachment.Status = status
	Expect(theLab.WorkloadKube.Status().Update(ctx, attachment)).To(Succeed())
	return deleted(attachment)
}

// hangShutdown keeps the host from shutting down, until its power is cut.
func hangShutdown(_ context.Context, u *upgrade) func(context.Context) {
	GinkgoHelper()
	u.host.HangShutdown(true)
	return func(ctx context.Context) {
		GinkgoHelper()
		Expect(u.host.PowerOff(ctx)).To(Succeed())
		u.host.HangShutdown(false)
		Expect(u.host.PowerOn(ctx)).To(Succeed())
	}
}

// unreadyDaemon runs a DaemonSet whose Pods are not Ready.
func unreadyDaemon(ctx context.Context, u *upgrade) func(context.Context) {
	GinkgoHelper()
	labels := map[string]string{"app": "watchman"}
	daemon := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "watchman"},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: suite.PodTemplate(labels)},
	}
	Expect(theLab.WorkloadKube.Create(ctx, daemon)).To(Succeed())
	Eventually(func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := theLab.WorkloadKube.List(ctx, pods, client.MatchingLabels(labels)); err != nil {
			return err
		}
		return unready(ctx, pods.Items, u.worker.Node)
	}).WithContext(ctx).Should(Succeed())
	remove := deleted(daemon)
	return func(ctx context.Context) {
		GinkgoHelper()
		remove(ctx)
		Eventually(func(ctx context.Context) ([]corev1.Pod, error) {
			pods := &corev1.PodList{}
			err := theLab.WorkloadKube.List(ctx, pods, client.MatchingLabels(labels))
			return pods.Items, err
		}).WithContext(ctx).Should(BeEmpty())
	}
}

// unready sets a running Pod on the node to not Ready. The lab's kubelet sets running Pods Ready after each boot, but
// ignores those of phase Unknown.
func unready(ctx context.Context, pods []corev1.Pod, node string) error {
	for i := range pods {
		pod := &pods[i]
		if pod.Spec.NodeName != node || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		for j := range pod.Status.Conditions {
			if pod.Status.Conditions[j].Type == corev1.PodReady {
				pod.Status.Conditions[j].Status = corev1.ConditionFalse
			}
		}
		pod.Status.Phase = corev1.PodUnknown
		return theLab.WorkloadKube.Status().Update(ctx, pod)
	}
	return errNotYet
}
