// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/nodepause"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const (
	imageA      = "oci://registry.test/os:a"
	imageB      = "oci://registry.test/os:b"
	clusterName = "edge"
)

var manual = infrav1.NodeUpgradeOption{Strategy: infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual}}

// connection is to a workload cluster that is the management cluster. It can be cut, and calls can be left unanswered.
type connection struct {
	apiserver.SilentClusters
	cut bool
	// client is what the Nodes are read and written by; nil for that of the suite.
	client client.Client
}

func (c *connection) Connect(context.Context, client.ObjectKey) (*workload.Cluster, error) {
	if c.cut {
		return nil, workload.ErrUnreachable
	}
	if c.client != nil {
		return workload.New(live, c.client).WithCache(live), nil
	}
	return workload.New(live, live), nil
}

// world is a Cluster of its own namespace with the nodes a, b and c of MachineDeployment "workers", which all run
// imageA of template "old".
type world struct {
	namespace  string
	connection *connection
	reconciler *nodepause.Reconciler
	events     *events.FakeRecorder
	workers    *clusterv1.MachineDeployment
	set        *clusterv1.MachineSet
}

func newWorld(ctx context.Context, options infrav1.NodeUpgradeOption) *world {
	GinkgoHelper()
	w := &world{namespace: server.NewNamespace(ctx), connection: &connection{}, events: events.NewFakeRecorder(100)}
	w.reconciler = &nodepause.Reconciler{
		Client: live, APIReader: live, Clusters: w.connection, Workload: w.connection,
		Recorder: w.events,
	}
	DeferCleanup(func(ctx SpecContext) { Expect(live.DeleteAllOf(ctx, &corev1.Node{})).To(Succeed()) })
	cluster, elemental := ownertest.Cluster(w.namespace, clusterName, options)
	w.workers = ownertest.MachineDeployment(w.namespace, "workers", clusterName, "old", 3)
	for _, object := range []client.Object{cluster, elemental, ownertest.Template(w.namespace, "old", imageA), w.workers} {
		Expect(live.Create(ctx, object)).To(Succeed())
	}
	w.set = ownertest.MachineSet(w.workers, "workers-old", "old", 3)
	Expect(live.Create(ctx, w.set)).To(Succeed())
	for _, name := range []string{"a", "b", "c"} {
		w.add(ctx, ownertest.Machine(w.set, name))
	}
	return w
}

// add makes a Machine with its ElementalMachine, its host and its Node.
func (w *world) add(ctx context.Context, machine *clusterv1.Machine) {
	GinkgoHelper()
	name, inCluster := machine.Name, map[string]string{clusterv1.ClusterNameLabel: clusterName}
	labels := map[string]string{clusterv1.ClusterNameLabel: clusterName}
	for key, value := range machine.Labels {
		labels[key] = value
	}
	machine.Labels = labels
	own := ownertest.ElementalMachine(w.namespace, name, "old", imageA)
	own.Labels, own.Spec.HostRef = inCluster, &corev1.ObjectReference{Name: name}
	host := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: inCluster}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, object := range []client.Object{machine, own, host, node} {
		Expect(live.Create(ctx, object)).To(Succeed())
	}
	machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
	Expect(live.Status().Update(ctx, machine)).To(Succeed())
	w.boot(ctx, name, imageA)
}

// boot makes a host run an image.
func (w *world) boot(ctx context.Context, name, image string) {
	GinkgoHelper()
	host := &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	Expect(live.Get(ctx, client.ObjectKeyFromObject(host), host)).To(Succeed())
	host.Status.OS.ImageURI = image
	Expect(live.Status().Update(ctx, host)).To(Succeed())
}

// rollOut points the workers to a new template, of which a rollout of the same name is recorded.
func (w *world) rollOut(ctx context.Context, name, image string, options infrav1.NodeUpgradeOption) {
	GinkgoHelper()
	template := ownertest.Template(w.namespace, name, image)
	Expect(live.Create(ctx, template)).To(Succeed())
	w.record(ctx, template, options)
	w.pointTo(ctx, name)
}

// record a rollout of a template, with its name.
func (w *world) record(ctx context.Context, template *infrav1.ElementalMachineTemplate, options infrav1.NodeUpgradeOption) *infrav1.ElementalRollout {
	GinkgoHelper()
	of := ownertest.Rollout(template, clusterName)
	of.Spec.Options = options
	Expect(live.Create(ctx, of)).To(Succeed())
	return of
}

func (w *world) pointTo(ctx context.Context, template string) {
	GinkgoHelper()
	change(ctx, w, "workers", &clusterv1.MachineDeployment{}, func(md *clusterv1.MachineDeployment) {
		md.Spec.Template.Spec.InfrastructureRef.Name = template
	})
	w.reconcile(ctx)
}

// begin is what Cluster API does to a Machine whose turn it is.
func (w *world) begin(ctx context.Context, name, template, image string) {
	GinkgoHelper()
	change(ctx, w, name, &infrav1.ElementalMachine{}, func(m *infrav1.ElementalMachine) {
		m.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = template
		m.Annotations[clusterv1.UpdateInProgressAnnotation] = ""
		m.Spec.OSVersionManagement = ownertest.OS(image)
	})
	w.annotateMachine(ctx, name, clusterv1.UpdateInProgressAnnotation, "")
}

func (w *world) annotateMachine(ctx context.Context, name, key, value string) {
	GinkgoHelper()
	change(ctx, w, name, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[key] = value
	})
}

// finish is what Cluster API does when the hook has said done.
func (w *world) finish(ctx context.Context, name string) {
	GinkgoHelper()
	for _, object := range []client.Object{&infrav1.ElementalMachine{}, &clusterv1.Machine{}} {
		change(ctx, w, name, object, func(object client.Object) {
			delete(object.GetAnnotations(), clusterv1.UpdateInProgressAnnotation)
		})
	}
}

// attempt of a Machine to get the OS of a template.
func (w *world) attempt(ctx context.Context, name, template string, phase infrav1.UpgradePhase, steps ...infrav1.UpgradeStepStatus) *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	attempt := &infrav1.ElementalHostUpgrade{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-" + template, Finalizers: []string{infrav1.ElementalHostUpgradeFinalizer}},
		Spec: infrav1.ElementalHostUpgradeSpec{
			ClusterName: clusterName, MachineName: name, ElementalMachineName: name, HostName: name, TemplateName: template, RolloutName: template,
			ImageURI: imageB, OSVersionManagement: ownertest.OS(imageB), Options: manual,
		},
	}
	Expect(live.Create(ctx, attempt)).To(Succeed())
	attempt.Status.Phase, attempt.Status.Steps = phase, steps
	Expect(live.Status().Update(ctx, attempt)).To(Succeed())
	return attempt
}

func (w *world) reconcile(ctx context.Context) {
	GinkgoHelper()
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: clusterName}}
	for range 2 { // the second sees what the first has written
		_, err := w.reconciler.Reconcile(ctx, request)
		Expect(err).NotTo(HaveOccurred())
	}
}

// change writes a change of an object, as a person or another controller does.
func change[T client.Object](ctx context.Context, w *world, name string, object T, edit func(T)) {
	GinkgoHelper()
	key := client.ObjectKey{Namespace: w.namespace, Name: name}
	if _, isNode := any(object).(*corev1.Node); isNode {
		key.Namespace = ""
	}
	Expect(live.Get(ctx, key, object)).To(Succeed())
	edit(object)
	Expect(live.Update(ctx, object)).To(Succeed())
}

// annotate sets the pause of a Node, as a person does.
func (w *world) annotate(ctx context.Context, node, value string) {
	GinkgoHelper()
	change(ctx, w, node, &corev1.Node{}, func(node *corev1.Node) {
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		node.Annotations[infrav1.NodeUpgradePauseAnnotation] = value
	})
}

// resume takes the pause of a Node away, as a person does.
func (w *world) resume(ctx context.Context, node string) {
	GinkgoHelper()
	change(ctx, w, node, &corev1.Node{}, func(node *corev1.Node) { delete(node.Annotations, infrav1.NodeUpgradePauseAnnotation) })
}

// pauses are the marks on the Nodes as "pause by rollout", without those that have none.
func (w *world) pauses(ctx context.Context) map[string]string {
	GinkgoHelper()
	list, found := &corev1.NodeList{}, map[string]string{}
	Expect(live.List(ctx, list)).To(Succeed())
	for i := range list.Items {
		pause, paused := list.Items[i].Annotations[infrav1.NodeUpgradePauseAnnotation]
		by, noted := list.Items[i].Annotations[infrav1.PausedByAnnotation]
		if paused || noted {
			found[list.Items[i].Name] = pause + " by " + by
		}
	}
	return found
}

// approved is the rollout that the node of a Machine was let go on for.
func (w *world) approved(ctx context.Context, name string) string {
	GinkgoHelper()
	machine := &clusterv1.Machine{}
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, machine)).To(Succeed())
	return machine.Annotations[infrav1.ApprovedRolloutAnnotation]
}

// known is the condition about the names of strategy.pauseNodes.
func (w *world) known(ctx context.Context) *metav1.Condition {
	GinkgoHelper()
	elemental := &infrav1.ElementalCluster{}
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: clusterName}, elemental)).To(Succeed())
	return conditions.Get(elemental, infrav1.PauseNodesKnownCondition)
}

// deleteObject deletes an object, which a finalizer may keep.
func (w *world) deleteObject(ctx context.Context, name string, object client.Object) {
	GinkgoHelper()
	object.SetNamespace(w.namespace)
	object.SetName(name)
	Expect(live.Delete(ctx, object)).To(Succeed())
}
