// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machinetemplate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const (
	imageA = "oci:registry/os:a"
	imageB = "oci:registry/os:b"
	imageC = "oci:registry/os:c"
)

// world is a template "t" with imageA, of which MachineDeployment "md" in cluster "c" has made a Machine,
// at rest, as the reconciler has seen it before.
type world struct {
	namespace  string
	template   *infrav1.ElementalMachineTemplate
	cluster    *clusterv1.Cluster
	md         *clusterv1.MachineDeployment
	set        *clusterv1.MachineSet
	reconciler *machinetemplate.Reconciler
	events     *events.FakeRecorder
}

func newWorld() *world {
	GinkgoHelper()
	w := &world{namespace: plane.NewNamespace(ctx, optIn)}
	w.reconciler, w.events = newReconciler()
	cluster, elemental := ownertest.Cluster(w.namespace, "c", infrav1.NodeUpgradeOption{MaxConcurrent: 7})
	w.cluster, w.template = cluster, ownertest.Template(w.namespace, "t", imageA)
	w.md = ownertest.MachineDeployment(w.namespace, "md", "c", "t", 1)
	plane.Create(ctx, cluster, elemental, w.template, w.md)
	w.set = ownertest.MachineSet(w.md, "ms", "t", 1)
	plane.Create(ctx, w.set, ownertest.ElementalMachine(w.namespace, "m", "t", imageA))
	w.atRest()
	w.reconcile()
	return w
}

func (w *world) atRest() {
	GinkgoHelper()
	ownertest.Observe(ctx, c, w.md, 1)
	ownertest.Observe(ctx, c, w.set, 1)
}

// reconcile the template twice, and read it again: what the first look has written, the second one sees.
func (w *world) reconcile() ctrl.Result {
	GinkgoHelper()
	w.reconcileOnce()
	return w.reconcileOnce()
}

func (w *world) reconcileOnce() ctrl.Result {
	GinkgoHelper()
	result, err := w.reconciler.Reconcile(ctx, requestFor(w.template))
	Expect(err).NotTo(HaveOccurred())
	apiserver.Get(ctx, c, w.template)
	return result
}

// patch asks for another image, as kubectl patch does.
func (w *world) patch(image string) {
	GinkgoHelper()
	apiserver.Change(ctx, c, w.template, func() { w.template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage(image) })
}

// rollouts that are recorded.
func (w *world) rollouts() []infrav1.ElementalRollout {
	GinkgoHelper()
	list := &infrav1.ElementalRolloutList{}
	Expect(c.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

// onlyRollout is the only one that is recorded.
func (w *world) onlyRollout() *infrav1.ElementalRollout {
	GinkgoHelper()
	all := w.rollouts()
	Expect(all).To(HaveLen(1))
	return &all[0]
}

func (w *world) haveCondition(conditionType string, status metav1.ConditionStatus, reason string) {
	GinkgoHelper()
	found := conditions.Get(w.template, conditionType)
	Expect(found).NotTo(BeNil(), conditionType)
	Expect(*found).To(And(HaveField("Status", status), HaveField("Reason", reason)), found.Message)
}

func (w *world) message(conditionType string) string {
	return conditions.GetMessage(w.template, conditionType)
}

// allowInPlaceUpdates installs what in-place updates need: the gates and our ExtensionConfig.
func allowInPlaceUpdates() {
	GinkgoHelper()
	plane.Create(ctx, deployment("core", "cluster-api", "--feature-gates=ClusterTopology=true,RuntimeSDK=true,InPlaceUpdates=true"))
	installExtension(ourExtension("elemental", true))
}

func deployment(name, provider string, arguments ...string) *appsv1.Deployment {
	labels := map[string]string{clusterv1.ProviderNameLabel: provider, "name": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "x", Args: arguments}}},
			},
		},
	}
}

func ourExtension(name string, discovered bool) *runtimev1.ExtensionConfig {
	extension := foreignExtension(name, map[string]string{infrav1.ExtensionNamespaceLabel: infrav1.ExtensionNamespaceEnabled})
	extension.Status.Handlers = nil
	for handler, hook := range map[string]string{
		inplace.CanUpdateMachineHandler: "CanUpdateMachine", inplace.CanUpdateMachineSetHandler: "CanUpdateMachineSet", inplace.UpdateMachineHandler: "UpdateMachine",
	} {
		extension.Status.Handlers = append(extension.Status.Handlers, handlerOf(handler+"."+name, hook))
	}
	if !discovered {
		extension.Status.Conditions[0].Status = metav1.ConditionFalse
	}
	return extension
}

func foreignExtension(name string, namespaces map[string]string) *runtimev1.ExtensionConfig {
	return &runtimev1.ExtensionConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: runtimev1.ExtensionConfigSpec{
			ClientConfig:      runtimev1.ClientConfig{URL: "https://127.0.0.1:1"},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: namespaces},
		},
		Status: runtimev1.ExtensionConfigStatus{
			Handlers: []runtimev1.ExtensionHandler{handlerOf("u."+name, "UpdateMachine")},
			Conditions: []metav1.Condition{{
				Type: runtimev1.ExtensionConfigDiscoveredCondition, Status: metav1.ConditionTrue, Reason: "Discovered", LastTransitionTime: metav1.Now(),
			}},
		},
	}
}

func handlerOf(name, hook string) runtimev1.ExtensionHandler {
	return runtimev1.ExtensionHandler{
		Name: name, TimeoutSeconds: 10, FailurePolicy: runtimev1.FailurePolicyFail,
		RequestHook: runtimev1.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: hook},
	}
}

func installExtension(extension *runtimev1.ExtensionConfig) {
	GinkgoHelper()
	status := extension.Status
	plane.Create(ctx, extension)
	extension.Status = status
	Expect(c.Status().Update(ctx, extension)).To(Succeed())
}
