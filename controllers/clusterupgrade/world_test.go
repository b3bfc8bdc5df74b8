// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade_test

import (
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts/attemptstest"
	plans "github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const (
	imageA = "oci:registry/os:a"
	imageB = "oci:registry/os:b"
	imageC = "oci:registry/os:c"
)

// world is a Cluster "c" with the pools "a" and "b", each with a Machine and a template of its name, which have imageA. Its hosts do not fetch ahead.
type world struct {
	namespace  string
	cluster    *clusterv1.Cluster
	clock      *clocktesting.FakePassiveClock
	reconciler *clusterupgrade.Reconciler
	upgrade    *infrav1.ElementalClusterUpgrade
}

func newWorld() *world {
	GinkgoHelper()
	w := &world{namespace: plane.NewNamespace(ctx), clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC))}
	w.reconciler = &clusterupgrade.Reconciler{
		Client: c, APIReader: c, Recorder: events.NewFakeRecorder(100), Clock: w.clock,
		KubeVirt: func(live client.Client, version string) clusterupgrade.KubeVirt {
			return kubevirt.Upgrade{Live: live, Version: version}
		},
	}
	cluster, elemental := ownertest.Cluster(w.namespace, "c", infrav1.NodeUpgradeOption{Prefetch: infrav1.PrefetchNone})
	plane.Create(ctx, cluster, elemental)
	w.cluster = cluster
	w.addPool("a")
	w.addPool("b")
	return w
}

// addPool of one Machine, whose host runs imageA.
func (w *world) addPool(name string) {
	GinkgoHelper()
	md := ownertest.MachineDeployment(w.namespace, name, "c", name, 1)
	plane.Create(ctx, ownertest.Template(w.namespace, name, imageA), md)
	set := ownertest.MachineSet(md, name, name, 1)
	plane.Create(ctx, set)
	machine := ownertest.Machine(set, name)
	machine.Labels = maps.Clone(set.Labels)
	machine.Labels[clusterv1.ClusterNameLabel], machine.Labels[clusterv1.MachineDeploymentNameLabel] = "c", name
	plane.Create(ctx, machine)
	apiserver.ChangeStatus(ctx, c, machine, func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node-" + name })
	elemental := ownertest.ElementalMachine(w.namespace, name, name, imageA)
	elemental.Labels = machine.Labels
	elemental.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID}}
	elemental.Spec.HostRef = &infrav1.LocalReference{Name: "host-" + name}
	plane.Create(ctx, elemental)
	w.addHost(name, elemental)
	w.runs(name, imageA)
}

// addHost that serves the machine of a pool.
func (w *world) addHost(name string, serves *infrav1.ElementalMachine) {
	GinkgoHelper()
	host := &infrav1.ElementalHost{ObjectMeta: w.meta("host-" + name)}
	host.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"}
	host.Spec.Approved, host.Spec.MachineRef = true, &infrav1.LocalReference{Name: serves.Name, UID: serves.UID}
	plane.Create(ctx, host)
	apiserver.ChangeStatus(ctx, c, host, func(h *infrav1.ElementalHost) { h.Status.Agent.Version = "v0.8.0" })
}

// runs has the machine of a pool specify an image, and its host run it.
func (w *world) runs(name, image string) {
	GinkgoHelper()
	elemental := w.elemental(name)
	apiserver.Change(ctx, c, elemental, func(m *infrav1.ElementalMachine) { m.Spec.OSVersionManagement = osversion.OfImage(image) })
	apiserver.ChangeStatus(ctx, c, elemental, func(m *infrav1.ElementalMachine) {
		conditions.Set(m, metav1.Condition{Type: infrav1.OSUpToDateCondition, Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: m.Generation})
	})
}

func (w *world) elemental(name string) *infrav1.ElementalMachine {
	return apiserver.Get(ctx, c, &infrav1.ElementalMachine{ObjectMeta: w.meta(name)})
}

func (w *world) template(name string) *infrav1.ElementalMachineTemplate {
	return apiserver.Get(ctx, c, &infrav1.ElementalMachineTemplate{ObjectMeta: w.meta(name)})
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// image of a pool's template.
func (w *world) image(name string) string {
	return osversion.Image(w.template(name).Spec.Template.Spec.OSVersionManagement)
}

// hold is why the upgrade of the node of a pool must not start now; empty if it may.
func (w *world) hold(name string) infrav1.HoldReason {
	GinkgoHelper()
	plan, err := plans.Read(ctx, c, w.upgrade, apiserver.Get(ctx, c, &infrav1.ElementalCluster{ObjectMeta: w.meta("c")}).Status.UpgradeSlots)
	Expect(err).NotTo(HaveOccurred())
	if held := plan.Hold(name, w.clock.Now()); held != nil {
		return held.Reason
	}
	return ""
}

// patch the image of a pool's template, as somebody else.
func (w *world) patch(name, image string) {
	GinkgoHelper()
	apiserver.Change(ctx, c, w.template(name), func(t *infrav1.ElementalMachineTemplate) {
		t.Spec.Template.Spec.OSVersionManagement = osversion.OfImage(image)
	})
}

// rollsOut a pool's template.
func (w *world) rollsOut(name string) *infrav1.ElementalRollout {
	GinkgoHelper()
	of := ownertest.Rollout(w.template(name), "c")
	plane.Create(ctx, of)
	return of
}

// isHeldBy names the upgrade by which a rollout is held.
func isHeldBy(of *infrav1.ElementalRollout) string {
	GinkgoHelper()
	return apiserver.Get(ctx, c, of).Spec.HeldBy
}

// begin an upgrade to imageB.
func (w *world) begin(changes ...func(*infrav1.ElementalClusterUpgrade)) {
	GinkgoHelper()
	w.upgrade = &infrav1.ElementalClusterUpgrade{ObjectMeta: w.meta("edge"), Spec: infrav1.ElementalClusterUpgradeSpec{
		ClusterName: "c", OSVersion: infrav1.ClusterOSVersion{ImageURI: imageB},
	}}
	for _, change := range changes {
		change(w.upgrade)
	}
	plane.Create(ctx, w.upgrade)
	w.settle()
}

// settle reconciles until nothing is to be done at once, and returns the status.
func (w *world) settle() infrav1.ElementalClusterUpgradeStatus {
	GinkgoHelper()
	key := client.ObjectKeyFromObject(w.upgrade)
	for range 10 {
		result, err := w.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: key})
		Expect(err).NotTo(HaveOccurred())
		before := w.upgrade.ResourceVersion
		if err := c.Get(ctx, key, w.upgrade); err != nil {
			Expect(client.IgnoreNotFound(err)).To(Succeed())
			return infrav1.ElementalClusterUpgradeStatus{}
		}
		if w.upgrade.ResourceVersion == before && (result.RequeueAfter == 0 || result.RequeueAfter > time.Second) {
			return w.upgrade.Status
		}
	}
	Fail("it does not settle")
	return w.upgrade.Status
}

// attempt of a pool at the image of the upgrade, which has entered Cordon or not.
func (w *world) attempt(name string, phase infrav1.UpgradePhase, cordoned bool) *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	made := attemptstest.New(w.namespace, "upgrade-"+name, "c", "host-"+name, imageB)
	made.Spec.MachineName, made.Spec.ElementalMachineName, made.Spec.TemplateName = name, name, name
	made.Spec.OSVersionManagement = osversion.OfImage(imageB)
	plane.Create(ctx, made)
	w.brings(made, phase, cordoned)
	return made
}

func (w *world) brings(attempt *infrav1.ElementalHostUpgrade, phase infrav1.UpgradePhase, cordoned bool) {
	GinkgoHelper()
	apiserver.ChangeStatus(ctx, c, attempt, func(u *infrav1.ElementalHostUpgrade) {
		u.Status.Phase, u.Status.Step, u.Status.StepIndex, u.Status.StepCount, u.Status.Message = phase, "Admit", 4, 14, "says something"
		if cordoned {
			u.Status.Step, u.Status.StepIndex = attempts.StepCordon, 5
			u.Status.Steps = []infrav1.UpgradeStepStatus{{Name: attempts.StepCordon, StartTime: metav1.NewTime(w.clock.Now())}}
		}
	})
}
