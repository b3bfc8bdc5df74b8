// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"
	"errors"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var errRefused = errors.New("refused")

// refusesAttempts cannot create attempts.
type refusesAttempts struct{ client.Client }

func (r refusesAttempts) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if _, isAttempt := object.(*infrav1.ElementalHostUpgrade); isAttempt {
		return errRefused
	}
	return r.Client.Create(ctx, object, options...)
}

// laggingTemplate is a cache that has not heard of the last change of a template.
type laggingTemplate struct {
	client.Client
	known *infrav1.ElementalMachineTemplate
}

func (l laggingTemplate) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	template, isOne := object.(*infrav1.ElementalMachineTemplate)
	if isOne && key == client.ObjectKeyFromObject(l.known) {
		l.known.DeepCopyInto(template)
		return nil
	}
	return l.Client.Get(ctx, key, object, options...)
}

func controlPlaneOf(kind string) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: kind, Name: "cp", UID: "1", Controller: ptr.To(true)}
}

// addMachine that was made from the template, with a host that runs its OS.
func (w *world) addMachine(name string, controller *metav1.OwnerReference) *infrav1.ElementalMachine {
	GinkgoHelper()
	of := ownertest.Machine(w.set, name)
	of.Labels, of.OwnerReferences = map[string]string{clusterv1.ClusterNameLabel: "c"}, nil
	if controller != nil {
		of.OwnerReferences = []metav1.OwnerReference{*controller}
		of.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	return w.addServed(of, "t", imageA)
}

// addServed adds a Machine with an ElementalMachine that was made from a template, and a host that runs its OS.
func (w *world) addServed(of *clusterv1.Machine, template, image string) *infrav1.ElementalMachine {
	GinkgoHelper()
	plane.Create(ctx, of)
	elemental := ownertest.ElementalMachine(w.namespace, of.Name, template, image)
	elemental.Labels = of.Labels
	elemental.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: of.Name, UID: of.UID}}
	elemental.Spec.HostRef = &infrav1.LocalReference{Name: "host-" + of.Name}
	plane.Create(ctx, elemental)
	plane.Create(ctx, ownertest.Host(elemental))
	w.runs(of.Name, image)
	return elemental
}

func (w *world) elemental(name string) *infrav1.ElementalMachine {
	GinkgoHelper()
	return apiserver.Get(ctx, c, &infrav1.ElementalMachine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}})
}

// runs has the host of a machine run an image, and the machine controller note it.
func (w *world) runs(machine, image string) {
	GinkgoHelper()
	host := apiserver.Get(ctx, c, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "host-" + machine}})
	before := host.DeepCopy()
	host.Status.Agent.Version = "v0.8.0"
	host.Status.OS = infrav1.HostOS{ImageURI: image, BootMode: "active"}
	Expect(c.Status().Patch(ctx, host, client.MergeFrom(before))).To(Succeed())
	elemental := w.elemental(machine)
	stored := elemental.DeepCopy()
	condition.True(elemental, infrav1.OSUpToDateCondition)
	Expect(c.Status().Patch(ctx, elemental, client.MergeFrom(stored))).To(Succeed())
}

func (w *world) attempts() []infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	list := &infrav1.ElementalHostUpgradeList{}
	Expect(c.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

// attemptOn a Machine, of which there is one.
func (w *world) attemptOn(machine string) *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	found := slices.DeleteFunc(w.attempts(), func(u infrav1.ElementalHostUpgrade) bool { return u.Spec.MachineName != machine })
	Expect(found).To(HaveLen(1))
	return &found[0]
}

func (w *world) onlyAttempt() *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	all := w.attempts()
	Expect(all).To(HaveLen(1))
	return &all[0]
}

// end of an attempt, as the upgrade controller records it.
func (w *world) end(attempt *infrav1.ElementalHostUpgrade, phase infrav1.UpgradePhase) {
	GinkgoHelper()
	w.setStatus(attempt, func() { attempt.Status.Phase, attempt.Status.Step = phase, "" })
}

func (w *world) setStatus(attempt *infrav1.ElementalHostUpgrade, change func()) {
	GinkgoHelper()
	before := attempt.DeepCopy()
	change()
	Expect(c.Status().Patch(ctx, attempt, client.MergeFrom(before))).To(Succeed())
}

// optOut takes the namespace's consent to upgrades in place back.
func (w *world) optOut() {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	apiserver.Change(ctx, c, apiserver.Get(ctx, c, namespace), func() { delete(namespace.Labels, infrav1.ExtensionNamespaceLabel) })
}
