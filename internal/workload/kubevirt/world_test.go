// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

const (
	attempt = "upgrade-a/12345678"
	// nodeOne is evacuated, and nodeTwo has room.
	nodeOne, nodeTwo = "node-1", "node-2"
)

// world is a cluster of two Nodes, whose KubeVirt the specs play. What virt-api answers is played where the API server
// is called; everything else is stored.
type world struct {
	client    client.Client
	namespace string
	policy    infrav1.VMPolicy
	observed  *observed.Changes
	// ahead is how far the clock of the cluster is ahead of the controller's.
	ahead time.Duration
	// answers is what virt-api says to the eviction of a Pod; nil: it lets it pass, as without a webhook.
	answers func(dryRun bool, pod client.Object) error
	// unanswered makes virt-api not answer anything.
	unanswered bool
	// refuses is the error of every write; nil: none.
	refuses error
	// unlisted is the error of the next list; nil: none.
	unlisted error
	// raced happens right before the next patch; nil: nothing.
	raced func()
	// podLists are how Pods were listed.
	podLists []client.ListOptions
	// calls counts what reaches the API server, by verb.
	calls map[string]int
}

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := &world{namespace: server.NewNamespace(ctx), policy: infrav1.VMPolicyBlock, calls: map[string]int{}, observed: &observed.Changes{}}
	w.answers = w.markAndRefuse
	w.client = w.wrap(live)
	addNode(ctx, nodeOne)
	addNode(ctx, nodeTwo)
	Expect(live.Create(ctx, &kubevirtv1.KubeVirt{ObjectMeta: w.meta("kubevirt")})).To(Succeed())
	DeferCleanup(w.clear)
	return w
}

func addNode(ctx context.Context, name string) {
	GinkgoHelper()
	made := node(name)
	status := made.Status
	Expect(live.Create(ctx, made)).To(Succeed())
	made.Status = status
	Expect(live.Status().Update(ctx, made)).To(Succeed())
	made.Spec.Taints = nil // every Node has one until its kubelet is there
	Expect(live.Update(ctx, made)).To(Succeed())
}

func (w *world) clear(ctx context.Context) {
	Expect(live.DeleteAllOf(ctx, &corev1.Node{})).To(Succeed())
	for _, kind := range []client.Object{
		&kubevirtv1.VirtualMachine{}, &kubevirtv1.VirtualMachineInstance{}, &kubevirtv1.VirtualMachineInstanceMigration{}, &kubevirtv1.KubeVirt{},
	} {
		Expect(live.DeleteAllOf(ctx, kind, client.InNamespace(w.namespace))).To(Succeed())
	}
	Expect(live.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.namespace), client.GracePeriodSeconds(0))).To(Succeed())
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// wrap plays virt-api before the API server.
func (w *world) wrap(inner client.WithWatch) client.Client {
	reach := func(verb string) error {
		w.calls[verb]++
		if w.unanswered {
			return apierrors.NewInternalError(errors.New("failed calling webhook: connection refused"))
		}
		return w.refuses
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			w.calls["list"]++
			given := client.ListOptions{}
			given.ApplyOptions(options)
			if _, pods := list.(*corev1.PodList); pods {
				w.podLists = append(w.podLists, given)
			}
			if err := w.unlisted; err != nil {
				w.unlisted = nil
				return err
			}
			return c.List(ctx, list, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := reach("create"); err != nil {
				return err
			}
			return c.Create(ctx, object, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if race := w.raced; race != nil {
				w.raced = nil
				race()
			}
			if err := reach("patch"); err != nil {
				return err
			}
			return c.Patch(ctx, object, patch, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := reach("delete"); err != nil {
				return err
			}
			return c.Delete(ctx, object, options...)
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, subResource string, object, sub client.Object, options ...client.SubResourceCreateOption) error {
			if err := reach("evict"); err != nil {
				return err
			}
			eviction := sub.(*policyv1.Eviction)
			if w.answers != nil {
				if err := w.answers(len(eviction.DeleteOptions.DryRun) > 0, object); err != nil {
					return err
				}
			}
			return c.SubResource(subResource).Create(ctx, object, sub, options...)
		},
	})
}

// markAndRefuse is what virt-api does where the guest is to be migrated.
func (w *world) markAndRefuse(dryRun bool, pod client.Object) error {
	if !dryRun {
		instance := &kubevirtv1.VirtualMachineInstance{}
		key := client.ObjectKey{Namespace: w.namespace, Name: pod.GetAnnotations()[kubevirtv1.DomainAnnotation]}
		if err := live.Get(context.Background(), key, instance); err != nil {
			return err
		}
		instance.Status.EvacuationNodeName = instance.Status.NodeName
		if err := live.Update(context.Background(), instance); err != nil {
			return err
		}
	}
	return apierrors.NewTooManyRequests("Eviction triggered evacuation of VMI", 0)
}

// unmark is what KubeVirt's evacuate/cancel does.
func (w *world) unmark(ctx context.Context, key client.ObjectKey, node string) error {
	w.calls["cancel"]++
	if w.unanswered {
		return apierrors.NewServiceUnavailable("no endpoints of virt-api")
	}
	instance := &kubevirtv1.VirtualMachineInstance{}
	if err := live.Get(ctx, key, instance); err != nil {
		return err
	}
	if instance.Status.EvacuationNodeName != node {
		return apierrors.NewBadRequest("test failed")
	}
	instance.Status.EvacuationNodeName = ""
	return live.Update(ctx, instance)
}

// add makes a virtual machine that runs on node-1: the first of a snapshot, changed.
func (w *world) add(ctx context.Context, name string, changes ...change) {
	GinkgoHelper()
	s := &kubevirt.Snapshot{Nodes: []corev1.Node{{}, {}}}
	addVM(s, name, "64Mi")
	for _, change := range changes {
		change(s)
	}
	for i := range s.Machines {
		machine := &s.Machines[i]
		machine.Namespace = w.namespace
		status := machine.Status
		Expect(live.Create(ctx, machine)).To(Succeed())
		machine.Status = status
		Expect(live.Status().Update(ctx, machine)).To(Succeed())
	}
	instance := &s.Instances[0]
	instance.Namespace = w.namespace
	instance.Labels = map[string]string{kubevirtv1.NodeNameLabel: nodeOne}
	for i := range instance.OwnerReferences {
		instance.OwnerReferences[i].APIVersion, instance.OwnerReferences[i].UID = kubevirtv1.GroupVersion.String(), "1"
	}
	Expect(live.Create(ctx, instance)).To(Succeed())
	launcher := &s.Pods[0]
	launcher.Namespace = w.namespace
	launcher.Labels[kubevirtv1.CreatedByLabel] = string(instance.UID)
	launcher.Annotations = map[string]string{kubevirtv1.DomainAnnotation: name}
	launcher.Spec.Containers[0].Name, launcher.Spec.Containers[0].Image = "compute", "registry.test/launcher"
	launcher.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"devices.kubevirt.io/kvm": launcher.Spec.Containers[0].Resources.Requests["devices.kubevirt.io/kvm"]}
	Expect(live.Create(ctx, launcher)).To(Succeed())
	launcher.Status.Phase = corev1.PodRunning
	Expect(live.Status().Update(ctx, launcher)).To(Succeed())
}

func (w *world) evacuation(ctx context.Context) kubevirt.Evacuation {
	GinkgoHelper()
	found := &corev1.Node{}
	Expect(live.Get(ctx, client.ObjectKey{Name: nodeOne}, found)).To(Succeed())
	return kubevirt.Evacuation{
		Evacuation: workload.Evacuation{Node: found, Attempt: attempt, Policy: w.policy, Observed: w.observed, Now: time.Now().Add(-w.ahead)},
		Client:     w.client, Canceller: w.unmark,
	}
}

func (w *world) evacuate(ctx context.Context) kubevirt.Progress {
	GinkgoHelper()
	progress, err := kubevirt.Evacuate(ctx, w.evacuation(ctx))
	Expect(err).NotTo(HaveOccurred())
	return progress
}

func (w *world) cancel(ctx context.Context) kubevirt.Progress {
	GinkgoHelper()
	progress, err := kubevirt.Cancel(ctx, w.evacuation(ctx))
	Expect(err).NotTo(HaveOccurred())
	return progress
}

func (w *world) restore(ctx context.Context, changes ...func(*kubevirt.Restoration)) kubevirt.Progress {
	GinkgoHelper()
	restoration := kubevirt.Restoration{
		Restoration: workload.Restoration{NodeName: nodeOne, Node: w.evacuation(ctx).Node, Attempt: attempt}, Client: w.client,
	}
	for _, change := range changes {
		change(&restoration)
	}
	progress, err := kubevirt.Restore(ctx, restoration)
	Expect(err).NotTo(HaveOccurred())
	return progress
}

func (w *world) machine(ctx context.Context, name string) *kubevirtv1.VirtualMachine {
	GinkgoHelper()
	found := &kubevirtv1.VirtualMachine{}
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, found)).To(Succeed())
	return found
}

func (w *world) instance(ctx context.Context, name string) *kubevirtv1.VirtualMachineInstance {
	GinkgoHelper()
	found := &kubevirtv1.VirtualMachineInstance{}
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, found)).To(Succeed())
	return found
}

func (w *world) migrations(ctx context.Context) []kubevirtv1.VirtualMachineInstanceMigration {
	GinkgoHelper()
	found := &kubevirtv1.VirtualMachineInstanceMigrationList{}
	Expect(live.List(ctx, found, client.InNamespace(w.namespace))).To(Succeed())
	return found.Items
}

// observe plays KubeVirt's operator.
func (w *world) observe(ctx context.Context, version string) {
	GinkgoHelper()
	observed := &kubevirtv1.KubeVirt{}
	Expect(live.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "kubevirt"}, observed)).To(Succeed())
	observed.Status.ObservedKubeVirtVersion = version
	Expect(live.Status().Update(ctx, observed)).To(Succeed())
}

// leave plays a virtual machine that is gone from the Node, and its Pod.
func (w *world) leave(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(live.Delete(ctx, w.instance(ctx, name))).To(Succeed())
	w.leaveLauncher(ctx, name)
}

func (w *world) leaveLauncher(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(live.Delete(ctx, &corev1.Pod{ObjectMeta: w.meta("virt-launcher-" + name)}, client.GracePeriodSeconds(0))).To(Succeed())
}
