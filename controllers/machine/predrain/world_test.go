// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predrain_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machine/predrain"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

// holdingFinalizer keeps a Machine in its deletion.
const holdingFinalizer = "test.cluster.x-k8s.io/held"

// errFails is what a workload cluster answers that is connected and still fails.
var errFails = errors.New("etcdserver: leader changed")

// guests are the virtual machines of the world's Node. They record what was asked of them.
type guests struct {
	workload.Nothing
	present bool
	// running is how many are on the Node, and stopped how many were stopped and are not back.
	running, stopped int
	// held is what those that run say that a person has to do.
	held string
	// lookFails, evacuationFails and restoreFails until they do not.
	lookFails, evacuationFails, restoreFails bool
	attempts                                 map[string]bool
	policy                                   infrav1.VMPolicy
	asked                                    []string
}

func (*guests) Name() string { return "guests" }

func (*guests) NodeLabel() string { return kubevirt.SchedulableLabel }

func (g *guests) CertainlyPresent(context.Context, *workload.Cluster, *corev1.Node) (bool, error) {
	if g.lookFails {
		return false, errFails
	}
	return g.present, nil
}

func (g *guests) Evacuate(_ context.Context, _ *workload.Cluster, e workload.Evacuation) (workload.Progress, error) {
	g.asked, g.policy = append(g.asked, "evacuate"), e.Policy
	g.attempts[e.Attempt] = true
	if !e.Node.Spec.Unschedulable {
		return workload.Progress{}, errors.New("the Node is not cordoned")
	}
	if g.evacuationFails {
		return workload.Progress{}, errFails
	}
	message := "moving virtual machines"
	if g.held != "" {
		message = g.held
	}
	return workload.Progress{Done: g.running == 0, Held: g.held != "", Message: message, After: time.Second}, nil
}

func (g *guests) Restore(context.Context, *workload.Cluster, workload.Restoration) (workload.Progress, error) {
	g.asked = append(g.asked, "restore")
	if g.restoreFails {
		return workload.Progress{}, errFails
	}
	if g.stopped == 0 {
		return workload.Progress{Done: true}, nil
	}
	g.stopped--
	return workload.Progress{Message: "starting virtual machines", After: time.Second}, nil
}

// connector connects to the API server of the suite, or to one that is connected and fails.
type connector struct {
	guests     *guests
	cut, fails bool
}

func (c *connector) Connect(context.Context, client.ObjectKey) (*workload.Cluster, error) {
	switch {
	case c.cut:
		return nil, workload.ErrUnreachable
	case c.fails:
		return workload.New(live, failing{live}).With(c.guests), nil
	}
	return workload.New(live, live).With(c.guests), nil
}

// failing fails to read.
type failing struct{ client.Client }

func (failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errFails
}

// world is a Machine with its Node, which has the same name as its namespace.
type world struct {
	namespace  string
	guests     *guests
	connector  *connector
	clock      *clocktesting.FakePassiveClock
	events     *events.FakeRecorder
	reconciler *predrain.Reconciler
}

func newWorld(ctx context.Context, changes ...func(*clusterv1.Machine)) *world {
	GinkgoHelper()
	w := &world{
		namespace: server.NewNamespace(ctx), guests: &guests{present: true, attempts: map[string]bool{}},
		clock: clocktesting.NewFakePassiveClock(time.Now()), events: events.NewFakeRecorder(100),
	}
	w.connector = &connector{guests: w.guests}
	w.reconciler = &predrain.Reconciler{
		Client: live, Workload: w.connector, Recorder: w.events, Clock: w.clock,
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	machine := &clusterv1.Machine{ObjectMeta: w.meta("m"), Spec: clusterv1.MachineSpec{
		ClusterName: "edge", Bootstrap: clusterv1.Bootstrap{DataSecretName: new("bootstrap")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: "m"},
	}}
	machine.Finalizers = []string{holdingFinalizer}
	for _, change := range changes {
		change(machine)
	}
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("edge"), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: "edge"},
	}}
	cluster.Finalizers = []string{holdingFinalizer}
	elemental := &infrav1.ElementalCluster{ObjectMeta: w.meta("edge")}
	elemental.Spec.NodeUpgradeOption.VMPolicy = infrav1.VMPolicyShutdownAndRestore
	for _, object := range []client.Object{node, machine, cluster, elemental, &infrav1.ElementalMachine{ObjectMeta: w.meta("m")}} {
		Expect(live.Create(ctx, object)).To(Succeed())
	}
	machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: w.namespace}
	Expect(live.Status().Update(ctx, machine)).To(Succeed())
	w.setReady(ctx, corev1.ConditionTrue)
	return w
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) setReady(ctx context.Context, status corev1.ConditionStatus) {
	GinkgoHelper()
	node := w.node(ctx)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	Expect(live.Status().Update(ctx, node)).To(Succeed())
}

func (w *world) node(ctx context.Context) *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(live.Get(ctx, client.ObjectKey{Name: w.namespace}, node)).To(Succeed())
	return node
}

func get[T client.Object](ctx context.Context, w *world, name string, object T) T {
	GinkgoHelper()
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, object)).To(Succeed())
	return object
}

func (w *world) reconcile(ctx context.Context) ctrl.Result {
	GinkgoHelper()
	result, err := w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "m"}})
	Expect(err).NotTo(HaveOccurred())
	return result
}

// deleted is a world whose Machine carries the hook and is being deleted, with a running virtual machine.
func deleted(ctx context.Context, changes ...func(*clusterv1.Machine)) *world {
	GinkgoHelper()
	w := newWorld(ctx, changes...)
	w.guests.running = 1
	w.reconcile(ctx)
	Expect(w.hooked(ctx)).To(BeTrue())
	Expect(live.Delete(ctx, get(ctx, w, "m", &clusterv1.Machine{}))).To(Succeed())
	return w
}

func (w *world) hooked(ctx context.Context) bool {
	GinkgoHelper()
	_, has := get(ctx, w, "m", &clusterv1.Machine{}).Annotations[infrav1.PreDrainHookAnnotation]
	return has
}

// says is the reason and the message of what the deletion waits for; empty if it does not.
func (w *world) says(ctx context.Context) string {
	GinkgoHelper()
	for _, condition := range get(ctx, w, "m", &infrav1.ElementalMachine{}).Status.Conditions {
		if condition.Type == infrav1.EvacuatingCondition {
			return condition.Reason + ": " + condition.Message
		}
	}
	return ""
}

func (w *world) lastEvent() string {
	last := ""
	for len(w.events.Events) > 0 {
		last = <-w.events.Events
	}
	return last
}
