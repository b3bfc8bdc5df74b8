// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = Describe("The webhook of ElementalClusterUpgrades", func() {
	// newUpgrade of a Cluster of its own.
	newUpgrade := func(name, cluster string, changes ...func(*infrav1.ElementalClusterUpgrade)) *infrav1.ElementalClusterUpgrade {
		upgrade := &infrav1.ElementalClusterUpgrade{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
			Spec:       infrav1.ElementalClusterUpgradeSpec{ClusterName: cluster, OSVersion: infrav1.ClusterOSVersion{ImageURI: "oci://registry/os:1"}},
		}
		for _, change := range changes {
			change(upgrade)
		}
		return upgrade
	}
	window := func(schedule, zone string) func(*infrav1.ElementalClusterUpgrade) {
		return func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.Windows = []infrav1.UpgradeWindow{{Schedule: schedule, DurationSeconds: 3600, TimeZone: zone}}
		}
	}

	// gated has a gate with an object.
	gated := func(expression string, object infrav1.GateObject) func(*infrav1.ElementalClusterUpgrade) {
		return func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.GateServiceAccount = &infrav1.GateServiceAccount{Namespace: "gates", Name: "gates"}
			u.Spec.Gates = []infrav1.UpgradeGate{{Name: "storage", Object: &object, Expression: expression}}
		}
	}
	ceph := infrav1.GateObject{APIVersion: "ceph.rook.io/v1", Kind: "CephCluster", Namespace: "rook-ceph", Name: "rook-ceph"}

	DescribeTable("rejects", func(ctx SpecContext, change func(*infrav1.ElementalClusterUpgrade), expected string) {
		Expect(server.Client.Create(ctx, newUpgrade("rejected", "rejected", change))).To(MatchError(ContainSubstring(expected)))
	},
		Entry("an image that no host can fetch", func(u *infrav1.ElementalClusterUpgrade) { u.Spec.OSVersion.ImageURI = "http://registry/os" }, "spec.osVersion.imageURI"),
		Entry("two stages with the same pools", func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.Order = []infrav1.PoolStage{{Pools: []string{"a"}}, {Pools: []string{"a"}}}
		}, `spec.order[1]: Invalid value: "a": is there twice: remove it, or give it other nodes, which are a total with those of the stages before`),
		Entry("a schedule that is none", window("22:00", ""), "spec.windows[0]: Invalid value: \"22:00\": schedule \"22:00\" is not one of cron"),
		Entry("an expression that is none", gated("self.status ==", ceph), "spec.gates[0].expression: Invalid value: \"self.status ==\": ERROR: "),
		Entry("an expression that is no condition", gated("'HEALTH_OK'", ceph), "its result is string: write an expression that is true or false"),
		Entry("a gate that reads Secrets", gated("true", infrav1.GateObject{APIVersion: "v1", Kind: "SecretList"}), "kind is that of one object"),
		Entry("a gate with a name that is none", gated("true", infrav1.GateObject{APIVersion: "v1", Kind: "Pod", Name: "../x"}), "spec.gates[0].object.name"),
		Entry("a gate that reads a Secret", gated("true", infrav1.GateObject{APIVersion: "v1", Kind: "Secret", Name: "s"}), "Secrets are not read"),
		Entry("a gate that reads a Secret by another spelling", gated("true", infrav1.GateObject{APIVersion: "/v1", Kind: "secret", Name: "s"}),
			"spec.gates[0].object.kind: Forbidden: Secrets are not read"),
		Entry("an expression that builds a text", gated("(self.a + 'b').size() > 'c' + 'd'", ceph), "spec.gates[0].expression"),
		Entry("an expression that builds a list", gated("self.items.map(i, i.name).size() > 0", ceph), "undeclared reference to"),
		Entry("a gate with an apiVersion that is none", gated("true", infrav1.GateObject{APIVersion: "a/b/c", Kind: "K"}), "spec.gates[0].object.apiVersion"),
		Entry("a gate with a name and a selector", gated("true", infrav1.GateObject{
			APIVersion: "v1", Kind: "ConfigMap", Name: "c", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		}), "set either name or selector"),
		Entry("a gate with a selector that is none", gated("true", infrav1.GateObject{
			APIVersion: "v1", Kind: "ConfigMap", Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}},
		}), "spec.gates[0].object.selector"),
		Entry("a canary after which no stage is for the others", func(u *infrav1.ElementalClusterUpgrade) {
			u.Spec.Order = []infrav1.PoolStage{{Pools: []string{"*"}}, {Pools: []string{"a"}, Nodes: ptr.To[int32](1)}}
		}, "is for some nodes of pool a, and the others would be upgraded in no order once the upgrade has ended: add a stage for all of them"),
		Entry("gates without a ServiceAccount", func(u *infrav1.ElementalClusterUpgrade) {
			gated("true", ceph)(u)
			u.Spec.GateServiceAccount = nil
		}, "set gateServiceAccount"),
		Entry("a gate without anything", func(u *infrav1.ElementalClusterUpgrade) {
			gated("true", ceph)(u)
			u.Spec.Gates[0] = infrav1.UpgradeGate{Name: "nothing"}
		}, "set either object or job"),
		Entry("an object without an expression", gated("", ceph), "set expression with object, and only with it"),
		Entry("a zone that is none", window("0 22 * * *", "Berlin"), `timeZone "Berlin" is not in the IANA database`),
	)

	It("accepts one for each Cluster, until it has ended or failed", func(ctx SpecContext) {
		first := newUpgrade("first", "one")
		Expect(server.Client.Create(ctx, first)).To(Succeed())
		Expect(server.Client.Create(ctx, newUpgrade("second", "one"))).To(MatchError(ContainSubstring(
			"spec.clusterName: ElementalClusterUpgrade first of Cluster one has not ended: wait for it, or set its spec.cancel")))
		Expect(server.Client.Create(ctx, newUpgrade("elsewhere", "another"))).To(Succeed())

		failed := first.DeepCopy()
		failed.Status.Phase = infrav1.ClusterUpgradeFailed
		Expect(server.Client.Status().Patch(ctx, failed, client.MergeFrom(first))).To(Succeed())
		Expect(server.Client.Create(ctx, newUpgrade("second", "one"))).To(Succeed())

		By("ending, which its annotation says where the status was lost")
		second := newUpgrade("second", "one")
		ended := second.DeepCopy()
		ended.Annotations = map[string]string{infrav1.EndedAnnotation: string(infrav1.ClusterUpgradeSucceeded)}
		Expect(server.Client.Patch(ctx, ended, client.MergeFrom(second))).To(Succeed())
		Eventually(func() error { return server.Client.Create(ctx, newUpgrade("third", "one")) }, time.Minute).Should(Succeed())
	})

	It("accepts those that clusterctl brings, of which one has failed in a status that is lost", func(ctx SpecContext) {
		for _, name := range []string{"failed", "next"} {
			Expect(server.Client.Create(ctx, newUpgrade(name, "moved", func(u *infrav1.ElementalClusterUpgrade) {
				u.Annotations = map[string]string{infrav1.CreatedAnnotation: "2026-11-26T12:00:00Z"}
			}))).To(Succeed())
		}
	})

	It("rejects windows that never open also afterwards, and lets all else pass", func(ctx SpecContext) {
		upgrade := newUpgrade("windows", "windows", window("0 22 * * *", "Europe/Berlin"))
		Expect(server.Client.Create(ctx, upgrade)).To(Succeed())
		upgrade.Spec.Windows[0].Schedule = "0 0 30 2 *"
		Expect(server.Client.Update(ctx, upgrade)).To(MatchError(ContainSubstring("it names a day that no month has")))
		upgrade.Spec.Windows[0].Schedule = "0 23 * * *"
		upgrade.Spec.Paused = true
		Expect(server.Client.Update(ctx, upgrade)).To(Succeed())
	})

	It("accepts other gates afterwards, and rejects those that never open", func(ctx SpecContext) {
		upgrade := newUpgrade("gates", "gates", gated("self.status.ceph.health == 'HEALTH_OK'", ceph))
		Expect(server.Client.Create(ctx, upgrade)).To(Succeed())
		upgrade.Spec.Gates[0].Expression = "object.status"
		Expect(server.Client.Update(ctx, upgrade)).To(MatchError(ContainSubstring("undeclared reference to 'object'")))
		upgrade.Spec.Gates = []infrav1.UpgradeGate{{Name: "smoke", Job: &infrav1.GateJob{Image: "registry/smoke"}}}
		Expect(server.Client.Update(ctx, upgrade)).To(Succeed())
		Expect(upgrade.Spec.Gates[0].Job).To(And(HaveField("TimeoutSeconds", BeEquivalentTo(600)), HaveField("RetryIntervalSeconds", BeEquivalentTo(60))))
		upgrade.Spec.Gates, upgrade.Spec.GateServiceAccount = nil, nil
		Expect(server.Client.Update(ctx, upgrade)).To(Succeed())
	})

	It("are deleted without it, and whatever gates they have", func(ctx SpecContext) {
		held := func(name string) *infrav1.ElementalClusterUpgrade {
			GinkgoHelper()
			upgrade := newUpgrade(name, name, gated("self.status.ceph.health == 'HEALTH_OK'", ceph))
			upgrade.Finalizers = []string{"example.com/held"}
			upgrade.Spec.Gates = append(upgrade.Spec.Gates, infrav1.UpgradeGate{Name: "smoke", Job: &infrav1.GateJob{Image: "registry/smoke"}})
			Expect(server.Client.Create(ctx, upgrade)).To(Succeed())
			return upgrade
		}
		deleted := func(upgrade *infrav1.ElementalClusterUpgrade) {
			GinkgoHelper()
			Expect(server.Client.Delete(ctx, upgrade)).To(Succeed())
			Expect(server.Client.Get(ctx, client.ObjectKeyFromObject(upgrade), upgrade)).To(Succeed())
			upgrade.Finalizers = nil
			Expect(server.Client.Update(ctx, upgrade)).To(Succeed())
			Expect(server.Client.Get(ctx, client.ObjectKeyFromObject(upgrade), upgrade)).To(MatchError(apierrors.IsNotFound, "is not found"))
		}
		// tried is what comes of creating another.
		tried := func() error {
			return server.Client.Create(ctx, newUpgrade("tried", "tried"), client.DryRunAll)
		}
		first, second := held("held-first"), held("held-second")

		By("having no manager that answers")
		restore := unreachable(ctx, "elementalclusterupgrades")
		Eventually(tried).Should(MatchError(ContainSubstring("failed calling webhook")))
		deleted(first)
		second.Spec.Gates[0].Expression = "self.items.map(i, i.name).size() > 0"
		Expect(server.Client.Update(ctx, second)).To(Succeed())

		By("having a manager that answers, and rejects that gate")
		restore()
		Eventually(tried).Should(Succeed())
		Eventually(func() error {
			rejected := second.DeepCopy()
			rejected.Spec.Gates[0].Expression = "self.items.map(i, i.kind).size() > 0"
			return server.Client.Update(ctx, rejected, client.DryRunAll)
		}).Should(MatchError(ContainSubstring("undeclared reference to")))
		second.Labels = map[string]string{"a": "b"}
		second.Spec.Paused = true
		second.Spec.Gates[1].Job.Image = "registry/smoke:2"
		Expect(server.Client.Update(ctx, second)).To(Succeed())
		second.Status.Message = "gate storage is closed"
		Expect(server.Client.Status().Update(ctx, second)).To(Succeed())
		deleted(second)
	})
})

// unreachable has the webhooks of a resource at an address where nobody answers, until that is undone. None of them is asked about deletions.
func unreachable(ctx context.Context, resource string) (restore func()) {
	GinkgoHelper()
	const nobody = "https://127.0.0.1:1/"
	all := &admissionv1.ValidatingWebhookConfigurationList{}
	Expect(server.Client.List(ctx, all)).To(Succeed())
	changed := []*admissionv1.ValidatingWebhookConfiguration{}
	for i := range all.Items {
		former, isChanged := all.Items[i].DeepCopy(), false
		for j := range all.Items[i].Webhooks {
			hook := &all.Items[i].Webhooks[j]
			if !slices.Contains(hook.Rules[0].Resources, resource) {
				continue
			}
			Expect(hook.Rules[0].Operations).NotTo(ContainElement(BeElementOf(admissionv1.Delete, admissionv1.OperationAll)))
			hook.ClientConfig.URL, isChanged = ptr.To(nobody), true
		}
		if isChanged {
			Expect(server.Client.Update(ctx, &all.Items[i])).To(Succeed())
			former.ResourceVersion = ""
			changed = append(changed, former)
		}
	}
	Expect(changed).NotTo(BeEmpty())
	undo := func(ctx context.Context) {
		for _, former := range changed {
			Expect(server.Client.Patch(ctx, former.DeepCopy(), client.Merge)).To(Succeed())
		}
	}
	DeferCleanup(undo)
	return func() { undo(ctx) }
}
