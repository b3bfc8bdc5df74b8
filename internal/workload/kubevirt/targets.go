// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// targets are the Nodes that virtual machines can be migrated to, with the room that is left on them. It is an
// estimate: the scheduler decides. What it does not look at is affinity between Pods, spreading, and CPU models.
type targets struct {
	nodes []*corev1.Node
	free  map[string]corev1.ResourceList
	// freed is the room that there is once the Pods have gone that are being deleted.
	freed map[string]corev1.ResourceList
	// counted are the Nodes whose room is known; nil: all are. uncounted are those of the others that could take a virtual
	// machine for which there is no room on these, the largest first.
	counted   sets.Set[string]
	uncounted []string
	// drainTaint is the taint of a Node that KubeVirt evacuates.
	drainTaint string
}

// newTargets counts the room on all Nodes but the one that is to go down.
func newTargets(s *Snapshot, leaving string) *targets {
	nodes, pods := s.Nodes, s.Pods
	t := &targets{
		free: map[string]corev1.ResourceList{}, freed: map[string]corev1.ResourceList{},
		counted: s.Counted, drainTaint: taintKey(s.KubeVirt),
	}
	for i := range nodes {
		if nodes[i].Name != leaving {
			t.nodes = append(t.nodes, &nodes[i])
			t.free[nodes[i].Name] = nodes[i].Status.Allocatable.DeepCopy()
			t.freed[nodes[i].Name] = nodes[i].Status.Allocatable.DeepCopy()
		}
	}
	slices.SortFunc(t.nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods {
		free, ok := t.free[pods[i].Spec.NodeName]
		if !ok {
			continue
		}
		requests := podRequests(&pods[i])
		take(free, requests)
		if pods[i].DeletionTimestamp.IsZero() {
			take(t.freed[pods[i].Spec.NodeName], requests)
		}
	}
	return t
}

// place takes the room for a virtual machine on the Node that has most memory left, as the scheduler would by default.
// It returns why there is none; that names no amounts, which change all the time.
func (t *targets) place(n *needs) (refusal string) {
	var best *corev1.Node
	reasons := map[string][]string{}
	for _, node := range t.nodes {
		if !t.isCounted(node) {
			continue
		}
		if why := t.refuses(node, n); why != "" {
			reasons[why] = append(reasons[why], node.Name)
			continue
		}
		if best == nil || t.memory(node).Cmp(*t.memory(best)) > 0 {
			best = node
		}
	}
	if best == nil && t.mayFit(n, reasons) {
		return "" // until they are counted
	}
	if best == nil {
		return noTarget(reasons)
	}
	take(t.free[best.Name], n.requests)
	take(t.freed[best.Name], n.requests)
	return ""
}

func (t *targets) isCounted(node *corev1.Node) bool {
	return t.counted == nil || t.counted.Has(node.Name)
}

// mayFit reports whether there are Nodes that are not counted and could take a virtual machine. Of the others it adds why not.
// Once there are some, no more are looked for: they are counted first.
func (t *targets) mayFit(n *needs, reasons map[string][]string) bool {
	if t.counted == nil || len(t.uncounted) > 0 {
		return len(t.uncounted) > 0
	}
	fit := []*corev1.Node{}
	for _, node := range t.nodes {
		if t.isCounted(node) {
			continue
		}
		if why := t.refuses(node, n); why != "" { // whatever its Pods take
			reasons[why] = append(reasons[why], node.Name)
			continue
		}
		fit = append(fit, node)
	}
	slices.SortStableFunc(fit, func(a, b *corev1.Node) int { return b.Status.Allocatable.Memory().Cmp(*a.Status.Allocatable.Memory()) })
	for _, node := range fit {
		t.uncounted = append(t.uncounted, node.Name)
	}
	return len(fit) > 0
}

func (t *targets) memory(node *corev1.Node) *resource.Quantity {
	free := t.free[node.Name]
	return free.Memory()
}

// refuses says why a Node cannot take a virtual machine; empty if it can.
func (t *targets) refuses(node *corev1.Node, n *needs) string {
	switch {
	case !workload.IsReady(node):
		return "not Ready"
	case node.Spec.Unschedulable:
		return "cordoned"
	case node.Labels[SchedulableLabel] != "true":
		return "virt-handler does not serve it"
	case !n.isBuiltFor(node):
		return "another architecture"
	case !n.selects(node):
		return "not selected by the virtual machine"
	}
	if taint := n.untolerated(node, anyTaint); taint != "" {
		return "taint " + taint + " is not tolerated"
	}
	return lacks(t.free[node.Name], n.requests)
}

// lacks names the first resource that is not enough; empty if all are.
func lacks(free, wanted corev1.ResourceList) string {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		amount, left := wanted[name], free[name]
		if !amount.IsZero() && left.Cmp(amount) < 0 {
			return "not enough " + string(name)
		}
	}
	return ""
}

func take(free, wanted corev1.ResourceList) {
	for name, amount := range wanted {
		left := free[name]
		left.Sub(amount)
		free[name] = left
	}
}

// noTarget says of all Nodes why they are none, by reason.
func noTarget(reasons map[string][]string) string {
	const named = 3
	if len(reasons) == 0 {
		return "there is no other node"
	}
	parts := []string{}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		names, more := reasons[why], ""
		if len(names) > named {
			more = " and " + strconv.Itoa(len(names)-named) + " more"
			names = names[:named]
		}
		parts = append(parts, strings.Join(names, ", ")+more+" ("+why+")")
	}
	return "no other node can take it: " + strings.Join(parts, ", ")
}

func anyTaint(string) bool { return true }

// untolerated is the first taint of a Node that counts and keeps a virtual machine away; empty if none does.
func (n *needs) untolerated(node *corev1.Node, counts func(key string) bool) string {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || !counts(taint.Key) {
			continue
		}
		if !slices.ContainsFunc(n.tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(klog.Background(), taint, false)
		}) {
			return taint.Key
		}
	}
	return ""
}

// podRequests is what the scheduler counts for a Pod: the most that its containers ask for at any time, and the Pod.
func podRequests(pod *corev1.Pod) corev1.ResourceList {
	total := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
	for i := range pod.Spec.Containers {
		add(total, pod.Spec.Containers[i].Resources.Requests)
	}
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(total, container.Resources.Requests)
			continue
		}
		for name, amount := range container.Resources.Requests {
			if known := total[name]; known.Cmp(amount) < 0 {
				total[name] = amount
			}
		}
	}
	add(total, pod.Spec.Overhead)
	return total
}

func add(total, more corev1.ResourceList) {
	for name, amount := range more {
		sum := total[name]
		sum.Add(amount)
		total[name] = sum
	}
}

// needs are what a virtual machine asks of a Node.
type needs struct {
	architecture string
	selector     map[string]string
	affinity     *corev1.NodeSelector
	tolerations  []corev1.Toleration
	requests     corev1.ResourceList
}

// needs of a virtual machine: the Pod that it runs in says what it requests, overhead included.
func (d *decider) needs(vmi *kubevirtv1.VirtualMachineInstance) *needs {
	n := &needs{architecture: vmi.Spec.Architecture, selector: vmi.Spec.NodeSelector, tolerations: vmi.Spec.Tolerations}
	if affinity := vmi.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		n.affinity = affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if pod := d.pods[string(vmi.UID)]; pod != nil {
		n.requests = podRequests(pod)
		return n
	}
	n.requests = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
	add(n.requests, vmi.Spec.Domain.Resources.Requests)
	if memory := vmi.Spec.Domain.Memory; memory != nil && memory.Guest != nil && n.requests.Memory().IsZero() {
		n.requests[corev1.ResourceMemory] = *memory.Guest
	}
	return n
}
