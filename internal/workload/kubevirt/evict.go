// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// maxEvictions is how many virtual machines are evicted in one pass, so that a pass over hundreds of them ends soon
// enough to be seen. How many of them are migrated at a time is KubeVirt's business.
const maxEvictions = 25

// evict asks KubeVirt to move a virtual machine, by the eviction of its Pod. KubeVirt marks the instance, refuses the
// eviction with 429, and migrates. An eviction that is not refused stops the guest; whether it would be is tried first.
func (p *pass) evict(ctx context.Context, decision *Decision) error {
	pod := p.podOf(decision)
	if pod == nil || !pod.DeletionTimestamp.IsZero() || p.evictions >= maxEvictions {
		return nil
	}
	p.evictions++
	err := p.evictPod(ctx, pod, metav1.DryRunAll)
	if err == nil {
		*decision = decision.holds("is not evicted, because that would stop the guest: KubeVirt's webhook for evictions is missing, or has changed its mind")
		return nil
	}
	budget, isBudget := budgetOf(err)
	if apierrors.IsTooManyRequests(err) && !isBudget {
		err = p.evictPod(ctx, pod, "")
		budget, isBudget = budgetOf(err)
	}
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	case isBudget:
		*decision = decision.holds("cannot be evicted: " + budget)
		return nil
	case apierrors.IsTooManyRequests(err):
		return nil // it is on its way
	case isRefused(err):
		*decision = decision.holds("cannot be evicted: " + err.Error())
		return nil
	}
	return err
}

func (p *pass) evictPod(ctx context.Context, pod *corev1.Pod, dryRun string) error {
	eviction := &policyv1.Eviction{
		// KubeVirt's webhook looks at the name.
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}},
	}
	if dryRun != "" {
		eviction.DeleteOptions.DryRun = []string{dryRun}
	}
	return write(ctx, func(ctx context.Context) error { return p.Client.SubResource("eviction").Create(ctx, pod, eviction) })
}

// budgetOf reports whether a PodDisruptionBudget refuses an eviction, and how it says so. KubeVirt has none since 1.6; those of users can
// stand over Pods of virtual machines, whose number the disruption controller cannot know.
func budgetOf(err error) (message string, isBudget bool) {
	cause, isBudget := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
	return cause.Message, isBudget
}

// holds is the same virtual machine, left alone.
func (f Decision) holds(reason string) Decision {
	return Decision{Namespace: f.Namespace, Name: f.Name, Decision: infrav1.VMBlock, Reason: reason}
}

// podOf is the Pod that a virtual machine runs in; nil if there is none.
func (p *pass) podOf(decision *Decision) *corev1.Pod {
	return p.pods[string(p.instance(decision).UID)]
}

func (p *pass) instance(decision *Decision) *kubevirtv1.VirtualMachineInstance {
	for i := range p.snapshot.Instances {
		if vmi := &p.snapshot.Instances[i]; vmi.Namespace == decision.Namespace && vmi.Name == decision.Name {
			return vmi
		}
	}
	return &kubevirtv1.VirtualMachineInstance{}
}
