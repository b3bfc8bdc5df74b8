// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancherdrain_test

import (
	"context"
	"fmt"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/rancherdrain"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts/attemptstest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

const (
	imageA = "oci:registry/os:a"
	imageB = "oci:registry/os:b"
	// rolledOut is the rollout of imageB.
	rolledOut = "t-b"
	// token of a drain, and that of another one.
	token      = `{"enabled":true,"force":false,` + hooks + `}`
	otherToken = `{"enabled":true,"force":true,` + hooks + `}`
	hooks      = `"preDrainHooks":[{"annotation":"` + pre + `"}],"postDrainHooks":[{"annotation":"` + post + `"}]`

	pre  = infrav1.RancherPreDrainAnnotation
	post = infrav1.RancherPostDrainAnnotation
)

// lively reads from the API server.
type lively struct {
	client.Reader
	// meanwhile runs after a plan secret was read.
	meanwhile func()
}

func (l *lively) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := l.Reader.Get(ctx, key, object, options...)
	if _, isPlan := object.(*metav1.PartialObjectMetadata); isPlan && l.meanwhile != nil {
		l.meanwhile()
	}
	return err
}

// recorder remembers which kinds of objects an event was about, and what it said.
type recorder struct{ said []string }

func (r *recorder) Eventf(about, _ runtime.Object, _, reason, _, note string, args ...any) {
	r.said = append(r.said, fmt.Sprintf("%T %s: %s", about, reason, fmt.Sprintf(note, args...)))
}

// world is a Cluster "c" that Rancher has provisioned, with a pool of template "t", whose Machine "m" has a host that runs imageA as the template asks
// for, and the plan secret of the Machine.
type world struct {
	namespace  string
	cluster    *clusterv1.Cluster
	options    *infrav1.ElementalCluster
	template   *infrav1.ElementalMachineTemplate
	machine    *clusterv1.Machine
	elemental  *infrav1.ElementalMachine
	host       *infrav1.ElementalHost
	secret     *corev1.Secret
	live       *lively
	recorder   *recorder
	reconciler *rancherdrain.Reconciler
}

func newWorld() *world {
	GinkgoHelper()
	w := &world{namespace: plane.NewNamespace(ctx), live: &lively{Reader: c}, recorder: &recorder{}}
	w.reconciler = &rancherdrain.Reconciler{
		Client: c, Live: w.live, Recorder: w.recorder,
	}
	w.cluster, w.options = ownertest.Cluster(w.namespace, "c", infrav1.NodeUpgradeOption{})
	w.cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: rancher.Group, Kind: rancher.ControlPlaneKind, Name: "c"}
	w.template = ownertest.Template(w.namespace, "t", imageA)
	md := ownertest.MachineDeployment(w.namespace, "md", "c", "t", 1)
	plane.Create(ctx, w.cluster, w.options, w.template, md)
	set := ownertest.MachineSet(md, "ms", "t", 1)
	plane.Create(ctx, set)
	w.machine = ownertest.Machine(set, "m")
	w.machine.Labels = maps.Clone(set.Labels)
	w.machine.Labels["rke.cattle.io/cluster-name"] = "c"
	plane.Create(ctx, w.machine)
	apiserver.ChangeStatus(ctx, c, w.machine, func(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node-m" })
	w.elemental = ownertest.ElementalMachine(w.namespace, "m", "t", imageA)
	w.elemental.Spec.HostRef = &infrav1.LocalReference{Name: "h"}
	w.elemental.Labels = w.machine.Labels
	w.elemental.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m", UID: w.machine.UID}}
	plane.Create(ctx, w.elemental)
	w.host = ownertest.Host(w.elemental)
	plane.Create(ctx, w.host)
	apiserver.ChangeStatus(ctx, c, w.host, func(h *infrav1.ElementalHost) { h.Status.Bootstrapped, h.Status.Agent.Version = true, "v1" })
	w.assign(imageA, "")
	w.secret = planSecret(w.namespace, "m")
	plane.Create(ctx, w.secret)
	return w
}

// lists both hooks in the drain options of tiers, and in no others.
func (w *world) lists(tiers ...string) {
	GinkgoHelper()
	strategy := fields{}
	for _, tier := range tiers {
		strategy[tier+"DrainOptions"] = fields{"preDrainHooks": []any{fields{"annotation": pre}}, "postDrainHooks": []any{fields{"annotation": post}}}
	}
	Expect(c.Create(ctx, &unstructured.Unstructured{Object: fields{
		"apiVersion": rancher.Group + "/v1", "kind": rancher.ControlPlaneKind, "metadata": fields{"namespace": w.namespace, "name": "c"},
		"spec": fields{"upgradeStrategy": strategy},
	}})).To(Succeed())
}

type fields = map[string]any

// planSecret as Rancher makes it, with an annotation of somebody else.
func planSecret(namespace, machine string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: machine + "-machine-plan", Labels: map[string]string{rancher.MachineNameLabel: machine},
			Annotations: map[string]string{"example.com/theirs": "kept"}, Finalizers: []string{"example.com/theirs"},
		},
		Type: "rke.cattle.io/machine-plan",
		Data: map[string][]byte{"plan": []byte("secret"), "appliedPlan": []byte("secret")},
	}
}

// assign an image to the machine, as the controller of templates does before it makes an attempt, with the rollout; empty: the machine has it.
func (w *world) assign(image, rollout string) {
	GinkgoHelper()
	apiserver.Change(ctx, c, w.elemental, func(m *infrav1.ElementalMachine) {
		m.Spec.OSVersionManagement = osversion.OfImage(image)
		owner.Note(m, "t", osversion.Hash(osversion.OfImage(image)), rollout)
	})
}

// patch asks for another image.
func (w *world) patch(image string) {
	GinkgoHelper()
	apiserver.Change(ctx, c, w.template, func(t *infrav1.ElementalMachineTemplate) {
		t.Spec.Template.Spec.OSVersionManagement = osversion.OfImage(image)
	})
}

// rollOut imageB: the template is patched, the machine assigned and its attempt made, which has entered some steps.
func (w *world) rollOut(steps ...string) *infrav1.ElementalHostUpgrade {
	GinkgoHelper()
	w.patch(imageB)
	w.assign(imageB, rolledOut)
	attempt := attemptstest.New(w.namespace, "attempt", "c", "m", imageB)
	attempt.Spec.Driver, attempt.Spec.RolloutName = infrav1.DriverRancherDrain, rolledOut
	plane.Create(ctx, attempt)
	w.enter(attempt, steps...)
	return attempt
}

// enter steps, as the upgrade controller records it.
func (w *world) enter(attempt *infrav1.ElementalHostUpgrade, steps ...string) {
	GinkgoHelper()
	apiserver.ChangeStatus(ctx, c, attempt, func(u *infrav1.ElementalHostUpgrade) {
		u.Status.Phase = infrav1.UpgradeProgressing
		for _, step := range steps {
			u.Status.Steps = append(u.Status.Steps, infrav1.UpgradeStepStatus{Name: step, StartTime: metav1.Now()})
		}
	})
}

func (w *world) end(attempt *infrav1.ElementalHostUpgrade, phase infrav1.UpgradePhase) {
	GinkgoHelper()
	apiserver.ChangeStatus(ctx, c, attempt, func(u *infrav1.ElementalHostUpgrade) { u.Status.Phase, u.Status.Message = phase, "went wrong" })
}

// rancher sets annotations of the plan secret to values, as Rancher does; an empty one is removed.
func (w *world) rancher(values map[string]string) {
	GinkgoHelper()
	apiserver.Change(ctx, c, w.secret, func(s *corev1.Secret) {
		maps.Copy(s.Annotations, values)
		maps.DeleteFunc(s.Annotations, func(_, value string) bool { return value == "" })
	})
}

// asks sets annotations of the protocol to the token.
func (w *world) asks(annotations ...string) {
	GinkgoHelper()
	values := map[string]string{rancher.DrainOptionsAnnotation: token}
	for _, annotation := range annotations {
		values[annotation] = token
	}
	w.rancher(values)
}

// reconcile the plan secret, of which nothing but our annotations may change.
func (w *world) reconcile() ctrl.Result {
	GinkgoHelper()
	before := apiserver.Get(ctx, c, w.secret).DeepCopy()
	result, err := w.reconciler.Reconcile(ctx, requestFor(w.secret))
	Expect(err).NotTo(HaveOccurred())
	if w.live.meanwhile == nil {
		Expect(othersPart(apiserver.Get(ctx, c, w.secret))).To(Equal(othersPart(before)))
	}
	return result
}

// othersPart of a plan secret is all but our annotations, and what the API server changes with every write.
func othersPart(secret *corev1.Secret) *corev1.Secret {
	part := secret.DeepCopy()
	part.ResourceVersion, part.ManagedFields = "", nil
	maps.DeleteFunc(part.Annotations, func(key, _ string) bool { return key == pre || key == post })
	return part
}

// answers on the plan secret, by the annotations.
func (w *world) answers() map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for _, key := range []string{pre, post} {
		if value, exists := apiserver.Get(ctx, c, w.secret).Annotations[key]; exists {
			found[key] = value
		}
	}
	return found
}
