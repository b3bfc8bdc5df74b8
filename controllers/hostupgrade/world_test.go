// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const (
	oldImage, newImage   = "oci://registry.test/os:v1", "oci://registry.test/os:v2"
	oldDigest, newDigest = "sha256:old", "sha256:new"
	kubelet              = "v1.36.3"
	clusterName          = "edge"
	templateName         = "pool"
	rolloutName          = "pool-2"
)

// wanted is the OS that the owner of all Machines wants, and wantedHash identifies it.
var (
	wanted     = osversion.OfImage(newImage)
	wantedHash = osversion.Hash(wanted)
)

// began is when the clock of every world starts.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a cluster of its own namespace, whose hosts and kubelets the spec plays.
type world struct {
	namespace string
	clock     *clocktesting.FakePassiveClock
	owners    *fakeOwners
	connector *fakeConnector
	faults    *faults
	// upgrade and host are those that most specs are about.
	upgrade, host string
	agent         *agent
	reconciler    *hostupgrade.Reconciler
}

// fakeOwners plays the owner of all Machines: one that wants an OS, or, without a hash, none that is known, or one that
// cannot be read.
type fakeOwners struct {
	hash string
	err  error
	// closed is why the namespace has not opted in.
	closed string
	// meanwhile is what others do while it is asked whether the namespace has opted in: before the slot is written, and before the host is
	// triggered. Nil: nothing.
	meanwhile func(ctx context.Context)
}

func (f *fakeOwners) NotOptedIn(ctx context.Context, _ string) (string, error) {
	if f.meanwhile != nil {
		f.meanwhile(ctx)
	}
	return f.closed, nil
}

func (f *fakeOwners) Wanted(_ context.Context, _ client.Reader, machine *clusterv1.Machine) (*hostupgrade.WantedOS, string, error) {
	if f.err != nil || f.hash == "" {
		return nil, owner.Want{}.Unknown(machine), f.err
	}
	return &hostupgrade.WantedOS{TemplateName: "wanted-by-now", OSVersionHash: f.hash}, "", nil
}

// fakeConnector connects to the API server of the suite.
type fakeConnector struct {
	client client.Client
	// cached is what Nodes are read from; nil for the client.
	cached      client.Reader
	unreachable bool
	// config is that of the client; nil without connections of its own.
	config *rest.Config
}

func (f *fakeConnector) Connect(context.Context, client.ObjectKey) (*workload.Cluster, error) {
	if f.unreachable {
		return nil, workload.ErrUnreachable
	}
	cluster := workload.New(f.client, f.client).WithConfig(f.config).With(kubevirt.Resident{}, longhorn.Resident{})
	if f.cached != nil {
		cluster = cluster.WithCache(f.cached)
	}
	return cluster, nil
}

// newWorld makes a cluster with one worker, whose host is to be upgraded.
func newWorld(ctx context.Context, options infrav1.NodeUpgradeOption) *world {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "hostupgrade-"}}
	Expect(live.Create(ctx, namespace)).To(Succeed())
	w := &world{
		namespace: namespace.Name,
		clock:     clocktesting.NewFakePassiveClock(began),
		owners:    &fakeOwners{hash: wantedHash},
		faults:    newFaults(),
		host:      namespace.Name + "-a",
		upgrade:   "upgrade-a",
	}
	w.restart()
	DeferCleanup(removeClusterScoped)
	Expect(live.Create(ctx, &infrav1.ElementalCluster{ObjectMeta: w.meta(clusterName)})).To(Succeed())
	Expect(live.Create(ctx, &clusterv1.Cluster{ObjectMeta: w.meta(clusterName), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalCluster", Name: clusterName,
		},
	}})).To(Succeed())
	template := &infrav1.ElementalMachineTemplate{ObjectMeta: w.meta(templateName)}
	template.Spec.Template.Spec.OSVersionManagement = wanted
	Expect(live.Create(ctx, template)).To(Succeed())
	rollout := ownertest.Rollout(template, clusterName)
	rollout.Name = rolloutName
	Expect(live.Create(ctx, rollout)).To(Succeed())
	w.addWorker(ctx, w.host)
	w.addOtherNode(ctx)
	w.addUpgrade(ctx, w.upgrade, w.host, options)
	w.agent = newAgent(w, w.host)
	return w
}

// restart recreates the controller, as after the death of the former one.
func (w *world) restart() {
	faulty := w.faults.wrap(live)
	w.connector = &fakeConnector{client: faulty, unreachable: w.connector != nil && w.connector.unreachable}
	w.reconciler = &hostupgrade.Reconciler{
		Client: apiserver.NewIndexed(faulty, clusterview.AddIndexes), APIReader: live, Workload: w.connector, Owners: w.owners, Namespaces: w.owners,
		Recorder: events.NewFakeRecorder(1000), Clock: w.clock, Soak: 10 * time.Second,
	}
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// addWorker makes a Machine, its ElementalMachine, its host and its Node, all of one name.
func (w *world) addWorker(ctx context.Context, name string) {
	GinkgoHelper()
	machine := &clusterv1.Machine{ObjectMeta: w.meta(name), Spec: clusterv1.MachineSpec{
		ClusterName: clusterName, Version: kubelet,
		Bootstrap: clusterv1.Bootstrap{DataSecretName: new("bootstrap")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: name,
		},
	}}
	machine.Labels = map[string]string{clusterv1.ClusterNameLabel: clusterName}
	Expect(live.Create(ctx, machine)).To(Succeed())
	machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
	Expect(live.Status().Update(ctx, machine)).To(Succeed())
	elemental := &infrav1.ElementalMachine{ObjectMeta: w.meta(name)}
	elemental.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID,
	}}
	elemental.Spec.HostRef, elemental.Spec.OSVersionManagement = &infrav1.LocalReference{Name: name}, wanted
	Expect(live.Create(ctx, elemental)).To(Succeed())
	host := &infrav1.ElementalHost{ObjectMeta: w.meta(name)}
	host.Spec.Approved, host.Spec.MachineRef = true, &infrav1.LocalReference{Name: name}
	Expect(live.Create(ctx, host)).To(Succeed())
	host.Status.Phase, host.Status.Agent.Version = infrav1.HostPhaseRunning, "v0.8.0"
	host.Status.OS = infrav1.HostOS{ImageURI: oldImage, Digest: oldDigest, BootID: "boot-1", Version: "OS v1"}
	Expect(live.Status().Update(ctx, host)).To(Succeed())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(live.Create(ctx, node)).To(Succeed())
	setNode(ctx, name, "boot-1", corev1.ConditionTrue, began.Add(-time.Hour))
}

// otherNode is the name of a Node of no Machine, without which the worker's would be the only one.
func (w *world) otherNode() string { return w.namespace + "-other" }

func (w *world) addOtherNode(ctx context.Context) {
	GinkgoHelper()
	Expect(live.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.otherNode()}})).To(Succeed())
	setNode(ctx, w.otherNode(), "boot-other", corev1.ConditionTrue, began.Add(-time.Hour))
}

// addUpgrade makes an attempt as the UpdateMachine hook does.
func (w *world) addUpgrade(ctx context.Context, name, host string, options infrav1.NodeUpgradeOption) {
	GinkgoHelper()
	Expect(live.Create(ctx, &infrav1.ElementalHostUpgrade{ObjectMeta: w.meta(name), Spec: infrav1.ElementalHostUpgradeSpec{
		ClusterName: clusterName, MachineName: host, ElementalMachineName: host, HostName: host,
		TemplateName: templateName, RolloutName: rolloutName, ImageURI: newImage, Options: options,
		OSVersionManagement: wanted,
	}})).To(Succeed())
}

// addOther makes another worker with an attempt, and its agent.
func (w *world) addOther(ctx context.Context, name string, options infrav1.NodeUpgradeOption) *agent {
	GinkgoHelper()
	w.addWorker(ctx, w.namespace+"-"+name)
	w.addUpgrade(ctx, "upgrade-"+name, w.namespace+"-"+name, options)
	return newAgent(w, w.namespace+"-"+name)
}

// reconcile runs the controller once on the world's attempt.
func (w *world) reconcile(ctx context.Context) (ctrl.Result, error) {
	return w.reconcileNamed(ctx, w.upgrade)
}

func (w *world) reconcileNamed(ctx context.Context, upgrade string) (ctrl.Result, error) {
	return w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: upgrade}})
}

// rest runs the controller until there is nothing left for it to write.
func (w *world) rest(ctx context.Context) {
	GinkgoHelper()
	const passes, enough = 20, 2
	for pass, quiet := 0, 0; quiet < enough; pass++ {
		Expect(pass).To(BeNumerically("<", passes), "the controller does not come to rest")
		writes := w.faults.lasting()
		_, err := w.reconcile(ctx)
		Expect(err).NotTo(HaveOccurred())
		quiet++
		if w.faults.lasting() != writes {
			quiet = 0
		}
	}
}

// setNode plays the kubelet.
func setNode(ctx context.Context, name, bootID string, ready corev1.ConditionStatus, since time.Time) {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(live.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	node.Status.NodeInfo = corev1.NodeSystemInfo{BootID: bootID, KubeletVersion: kubelet}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(since),
	}}
	Expect(live.Status().Update(ctx, node)).To(Succeed())
}

// removeClusterScoped takes away what other specs would find in their workload cluster.
func removeClusterScoped(ctx context.Context) {
	for _, kind := range []client.Object{&corev1.Node{}, &corev1.PersistentVolume{}, &storagev1.VolumeAttachment{}} {
		Expect(live.DeleteAllOf(ctx, kind)).To(Succeed())
	}
}
