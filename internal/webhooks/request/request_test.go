// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const (
	cluster  = "edge"
	template = "workers"
)

// world is a cluster of two workers in a namespace of its own.
type world struct{ namespace string }

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := newEmptyWorld(ctx)
	for _, name := range []string{"a", "b"} {
		w.addWorker(ctx, name)
	}
	return w
}

// newEmptyWorld is one whose template has made no Machine.
func newEmptyWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := &world{namespace: server.NewNamespace(ctx)}
	connector.err, connector.hangs, person.Warnings = nil, false, nil
	DeferCleanup(func(ctx SpecContext) { Expect(live.DeleteAllOf(ctx, &corev1.Node{})).To(Succeed()) })
	Expect(live.Create(ctx, &infrav1.ElementalCluster{ObjectMeta: w.meta(cluster)})).To(Succeed())
	Expect(live.Create(ctx, &clusterv1.Cluster{ObjectMeta: w.meta(cluster), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: cluster},
	}})).To(Succeed())
	made := &infrav1.ElementalMachineTemplate{ObjectMeta: w.meta(template)}
	made.Spec.Template.Spec.OSVersionManagement = image("v1")
	Expect(live.Create(ctx, made)).To(Succeed())
	return w
}

func image(tag string) infrav1.OSVersionManagement {
	return osversion.OfImage("oci://registry.test/os:" + tag)
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{
		clusterv1.ClusterNameLabel: cluster, clusterv1.MachineDeploymentNameLabel: template,
	}}
}

func (w *world) addWorker(ctx context.Context, name string) {
	GinkgoHelper()
	machine := &clusterv1.Machine{ObjectMeta: w.meta(name), Spec: clusterv1.MachineSpec{
		ClusterName: cluster, Bootstrap: clusterv1.Bootstrap{DataSecretName: new("bootstrap")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: name},
	}}
	Expect(live.Create(ctx, machine)).To(Succeed())
	elemental := &infrav1.ElementalMachine{ObjectMeta: w.meta(name)}
	elemental.Annotations = ownertest.ElementalMachine("", "", template, "").Annotations
	elemental.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID}}
	elemental.Spec.OSVersionManagement = image("v1")
	Expect(live.Create(ctx, elemental)).To(Succeed())
	machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: w.node(name)}
	machine.Status.Phase = string(clusterv1.MachinePhaseRunning)
	Expect(live.Status().Update(ctx, machine)).To(Succeed())
	host := &infrav1.ElementalHost{ObjectMeta: w.meta(name)}
	host.Spec.Approved, host.Spec.MachineRef = true, &infrav1.LocalReference{Name: name}
	Expect(live.Create(ctx, host)).To(Succeed())
	w.addNode(ctx, name)
}

func (w *world) addNode(ctx context.Context, name string) {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node(name)}}
	Expect(live.Create(ctx, node)).To(Succeed())
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	Expect(live.Status().Update(ctx, node)).To(Succeed())
}

// addAttempt on worker "b".
func (w *world) addAttempt(ctx context.Context, name string, status func(*infrav1.ElementalHostUpgradeStatus)) *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	attempt := &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta(name), Spec: infrav1.ElementalHostUpgradeSpec{
		ClusterName: cluster, MachineName: "b", ElementalMachineName: "b", HostName: "b", ImageURI: "oci://registry.test/os:v0", OSVersionManagement: image("v0"),
	}}
	Expect(live.Create(ctx, attempt)).To(Succeed())
	apiserver.ChangeStatus(ctx, live, attempt, func() { status(&attempt.Status) })
	return attempt
}

func (w *world) node(name string) string { return w.namespace + "-" + name }

func (w *world) changeNode(ctx context.Context, name string, change func(*corev1.Node)) {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(live.Get(ctx, client.ObjectKey{Name: w.node(name)}, node)).To(Succeed())
	change(node)
	Expect(live.Update(ctx, node)).To(Succeed())
	Expect(live.Get(ctx, client.ObjectKey{Name: w.node(name)}, node)).To(Succeed())
	change(node)
	Expect(live.Status().Update(ctx, node)).To(Succeed())
}

func cordon(node *corev1.Node)       { node.Spec.Unschedulable = true }
func makeNotReady(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionFalse }

// ask for an upgrade, as a person does by kubectl patch. The patch has a resourceVersion: without it the API server may call the webhook with
// an object of its watch cache first, and return the warnings of that call beside those of the one that counts.
func (w *world) ask(ctx context.Context, tag string, options ...client.PatchOption) error {
	GinkgoHelper()
	asked := &infrav1.ElementalMachineTemplate{}
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: template}, asked)).To(Succeed())
	before := client.MergeFromWithOptions(asked.DeepCopy(), client.MergeFromWithOptimisticLock{})
	asked.Spec.Template.Spec.OSVersionManagement = image(tag)
	return person.Patch(ctx, asked, before, options...)
}

func (w *world) annotate(ctx context.Context, object client.Object, name, key, value string) {
	GinkgoHelper()
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, object)).To(Succeed())
	annotations := ownertest.ElementalMachine("", "", template, "").Annotations
	annotations[key] = value
	object.SetAnnotations(annotations)
	Expect(live.Update(ctx, object)).To(Succeed())
}

func (w *world) waive(ctx context.Context, checks ...infrav1.PreflightCheck) {
	GinkgoHelper()
	object := &infrav1.ElementalMachineTemplate{}
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: template}, object)).To(Succeed())
	object.Spec.SkipPreflight = checks
	Expect(live.Update(ctx, object)).To(Succeed())
}

var _ = Describe("A request of an upgrade", func() {
	It("is admitted where nothing is in its way", func(ctx SpecContext) {
		w := newWorld(ctx)
		Expect(w.ask(ctx, "v2")).To(Succeed())
		Expect(person.Warnings).To(BeEmpty())
	})

	It("is rejected with everything that is in its way, a line each, and admitted when that is gone", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.changeNode(ctx, "a", cordon)
		w.changeNode(ctx, "b", makeNotReady)
		err := w.ask(ctx, "v2")
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		lines := strings.Split(err.Error(), "\n")
		Expect(lines).To(HaveExactElements(
			HaveSuffix("the upgrade cannot start now:"),
			fmt.Sprintf("Node/%s: was cordoned by someone else and is left alone: kubectl uncordon it to let its upgrade start [NodeSchedulable]", w.node("a")),
			fmt.Sprintf("Node/%s: is not Ready: the cluster must not lose another node [OtherNodes]", w.node("b")),
			fmt.Sprintf("Node/%s: is not Ready: bring it back before it is upgraded [NodeReady]", w.node("b")),
			Equal("Retry when that is done, or waive checks by their names in spec.skipPreflight of the template"),
		))
		w.changeNode(ctx, "a", func(node *corev1.Node) { node.Spec.Unschedulable = false })
		w.changeNode(ctx, "b", func(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionTrue })
		Expect(w.ask(ctx, "v2")).To(Succeed())
	})

	It("is admitted in spite of checks that are waived, on any of the objects that may say so", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.changeNode(ctx, "a", cordon)
		Expect(w.ask(ctx, "v2")).NotTo(Succeed())
		w.annotate(ctx, &infrav1.ElementalMachine{}, "b", infrav1.SkipPreflightAnnotation, "NodeSchedulable")
		Expect(w.ask(ctx, "v2")).NotTo(Succeed(), "the other node's waiver")
		w.annotate(ctx, &infrav1.ElementalMachine{}, "a", infrav1.SkipPreflightAnnotation, "NodeSchedulable")
		Expect(w.ask(ctx, "v2", client.DryRunAll)).To(Succeed())
		w.annotate(ctx, &infrav1.ElementalMachine{}, "a", infrav1.SkipPreflightAnnotation, "")
		w.waive(ctx, "NodeReady", "NodeSchedulable")
		Expect(w.ask(ctx, "v2")).To(Succeed())
		Expect(person.Warnings).To(ContainElement(ContainSubstring("Beware of Node/" + w.node("a") + ": was cordoned by someone else")))
	})

	It("is not checked when it asks for nothing, or for what all have", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.changeNode(ctx, "a", makeNotReady)
		Expect(w.ask(ctx, "v1")).To(Succeed())
		w.annotate(ctx, &infrav1.ElementalMachineTemplate{}, template, "note", "x")
		Expect(live.DeleteAllOf(ctx, &infrav1.ElementalMachine{}, client.InNamespace(w.namespace))).To(Succeed())
		Expect(w.ask(ctx, "v2")).To(Succeed(), "a template that has made nothing")
	})

	It("takes over a rollout that is under way, whatever is in the way of that", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.changeNode(ctx, "a", makeNotReady)
		w.annotate(ctx, &infrav1.ElementalMachine{}, "a", clusterv1.UpdateInProgressAnnotation, "")
		Expect(w.ask(ctx, "v3")).To(Succeed())
		Expect(person.Warnings).To(ContainElement(ContainSubstring("A rollout is in progress, and continues with this change")))
	})

	It("is admitted with a warning where the workload cluster cannot be reached, or does not answer in time", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.changeNode(ctx, "a", makeNotReady)
		connector.err = workload.ErrUnreachable
		Expect(w.ask(ctx, "v2", client.DryRunAll)).To(Succeed())
		Expect(person.Warnings).To(ConsistOf("cannot reach workload cluster edge: not connected, see condition RemoteConnectionProbe of the Cluster. " +
			"The upgrade will be checked before each node"))
		connector.hangs, person.Warnings = true, nil
		Expect(w.ask(ctx, "v2", client.DryRunAll)).To(Succeed())
		Expect(person.Warnings).To(ConsistOf("Admitted unchecked, and checked before each node: it timed out"))
	})

	It("tells the plan on a dry run, and changes nothing", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.annotate(ctx, &infrav1.ElementalCluster{}, cluster, "note", "x")
		elemental := &infrav1.ElementalCluster{}
		Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: cluster}, elemental)).To(Succeed())
		elemental.Spec.NodeUpgradeOption.Strategy = infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual, PauseNodes: []string{w.node("b")}}
		Expect(live.Update(ctx, elemental)).To(Succeed())
		Expect(w.ask(ctx, "v2", client.DryRunAll)).To(Succeed())
		Expect(person.Warnings).To(HaveExactElements(
			"Cluster edge: 2 nodes to upgrade, 1 at a time",
			"1. Node "+w.node("a"),
			"2. Node "+w.node("b")+": will pause by nodeUpgradeOption.strategy, and wait until its annotation "+infrav1.NodeUpgradePauseAnnotation+" is removed",
		))
		asked := &infrav1.ElementalMachineTemplate{}
		Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: template}, asked)).To(Succeed())
		Expect(asked.Spec.Template.Spec.OSVersionManagement).To(Equal(image("v1")))
	})

	Context("whose plan is asked for", func() {
		var w *world
		plan := func(ctx context.Context, tag string) []string {
			GinkgoHelper()
			person.Warnings = nil
			Expect(w.ask(ctx, tag, client.DryRunAll)).To(Succeed())
			return person.Warnings
		}
		BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

		It("says what the upgrade waits for besides its checks", func(ctx SpecContext) {
			digest := "sha256:" + strings.Repeat("a", 64)
			owning := &clusterv1.Cluster{ObjectMeta: w.meta(cluster)}
			apiserver.Change(ctx, live, owning, func() { owning.Spec.Paused = new(true) })
			elemental := &infrav1.ElementalCluster{ObjectMeta: w.meta(cluster)}
			apiserver.Change(ctx, live, elemental, func() {
				elemental.Spec.Quarantine = []infrav1.QuarantinedImage{{Digest: digest}}
				elemental.Spec.NodeUpgradeOption.Strategy = infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual, PauseNodes: []string{"nobody", w.node("a")}}
			})
			closed[w.namespace] = "the namespace is not selected"
			governing := &infrav1.ElementalClusterUpgrade{ObjectMeta: w.meta("spring")}
			governing.Spec.ClusterName = cluster
			governing.Spec.OSVersion.ImageURI = "oci://registry.test/os:v2@" + digest
			Expect(live.Create(ctx, governing)).To(Succeed())
			Expect(plan(ctx, "v2@"+digest)).To(ContainElements(
				"Waits for Cluster/edge: is paused: set its spec.paused to false",
				"Waits for Namespace/"+w.namespace+": the namespace is not selected",
				HavePrefix("Waits for Image/"+digest+": is quarantined"),
				"Waits for ElementalClusterUpgrade/spring: says which nodes of the Cluster begin: wait for its end, or cancel it",
				"Beware of nodeUpgradeOption.strategy.pauseNodes of ElementalCluster edge: Cluster edge has no Node nobody",
			))
		})

		It("says what nodes do at the moment, how long they took, and which budgets are closed", func(ctx SpecContext) {
			host := &infrav1.ElementalHost{ObjectMeta: w.meta("a")}
			apiserver.ChangeStatus(ctx, live, host, func() { host.Status.OS.ImageURI = "oci://registry.test/os:v2" })
			active := w.addAttempt(ctx, "active", func(status *infrav1.ElementalHostUpgradeStatus) {
				status.Phase, status.Step, status.StepIndex, status.StepCount = infrav1.UpgradeProgressing, "Drain", 7, 14
			})
			now := time.Now()
			at := func(minutes time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(minutes * time.Minute)} }
			w.addAttempt(ctx, "past", func(status *infrav1.ElementalHostUpgradeStatus) {
				status.Phase, status.StartTime, status.CompletionTime = infrav1.UpgradeSucceeded, at(-60), at(-50)
				for _, name := range []string{"Cordon", "Reboot", "Assess"} {
					status.Steps = append(status.Steps, infrav1.UpgradeStepStatus{Name: name, StartTime: *at(-54), CompletionTime: at(-51)})
				}
			})
			for name, allowed := range map[string]int32{"closed": 0, "open": 1} {
				budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
				budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
				Expect(live.Create(ctx, budget)).To(Succeed())
				apiserver.ChangeStatus(ctx, live, budget, func() {
					budget.Status = policyv1.PodDisruptionBudgetStatus{ExpectedPods: 1, DisruptionsAllowed: allowed, DesiredHealthy: 1, CurrentHealthy: 1}
				})
				DeferCleanup(func(ctx SpecContext) { Expect(live.Delete(ctx, budget)).To(Succeed()) })
			}
			Expect(plan(ctx, "v2")).To(HaveExactElements(
				"Cluster edge: 2 nodes to upgrade, 1 at a time, about 8 minutes by their last upgrades",
				"1. Node "+w.node("a")+"; runs it already",
				"2. Node "+w.node("b")+"; is being upgraded to "+active.Spec.ImageURI+", at Drain (7/14)",
				"Beware of PodDisruptionBudget/"+w.namespace+"/closed: allows no eviction at the moment: a node with one of its Pods is drained once it does",
			))
		})
	})
})
