// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// withoutKubeVirt says that there is none.
const withoutKubeVirt = "there is no KubeVirt in the workload cluster: create an ElementalClusterUpgrade without spec.kubeVirt"

// Upgrade of the KubeVirt of a workload cluster. Nothing of it is kept but in the KubeVirt: each call looks at what is so now.
type Upgrade struct {
	// Live reads and writes the workload cluster without a cache.
	Live client.Client
	// Version that KubeVirt is to have, as in "v1.8.4".
	Version string
}

// held is what the annotation keeps of a KubeVirt whose workload updates are held.
type held struct {
	Methods []kubevirtv1.WorkloadUpdateMethod `json:"methods,omitempty"`
	// ImageTag that an upgrade has set; empty if none has.
	ImageTag string `json:"imageTag,omitempty"`
}

// Advance brings the upgrade one step further, and says what it waits for; empty once it is done. Before the workload updates are held, and
// before the version is set, mayBegin is asked, which says why that may not be.
func (u Upgrade) Advance(ctx context.Context, mayBegin func() (string, error)) (string, error) {
	k, behind, err := u.behind(ctx)
	if err != nil || k == nil || behind == "" {
		return behind, err
	}
	if why := u.notOurs(k, behind); why != "" {
		return why, nil
	}
	saved, isHeld, why := heldOf(k)
	if why == "" && !isHeld {
		why, err = mayBegin()
	}
	if err != nil || why != "" {
		return why, err
	}
	if why, err := u.hold(ctx, k, &saved, isHeld); err != nil || why != "" {
		return why, err
	}
	return u.setVersion(ctx, k, saved, behind, mayBegin)
}

// behind says what of the KubeVirt is not at the version, or that there is none; empty if all is.
func (u Upgrade) behind(ctx context.Context) (*kubevirtv1.KubeVirt, string, error) {
	k, why, err := u.find(ctx)
	if err != nil || k == nil {
		return nil, why, err
	}
	handler, err := existing.Get(ctx, u.Live, &appsv1.DaemonSet{}, k.Namespace, handlerName)
	if err != nil {
		return nil, "", err
	}
	return k, NotRolledOut(k, handler, u.Version), nil
}

// notOurs says why a KubeVirt is not changed: it has the version and is not well, must not get it, or others give it one; empty if it is.
func (u Upgrade) notOurs(k *kubevirtv1.KubeVirt, behind string) string {
	if k.Status.TargetKubeVirtVersion == u.Version && k.Status.ObservedKubeVirtVersion == u.Version {
		return behind
	}
	if why := Unsupported(k, u.Version); why != "" {
		return why
	}
	if manager := managerOf(k); manager != "" {
		return fmt.Sprintf("%s is managed by %s, which has to upgrade it to %s: %s", nameOf(k), manager, u.Version, behind)
	}
	return ""
}

// Impossible says why the KubeVirt cannot be upgraded to the version, whatever is waited for; empty if it can.
func (u Upgrade) Impossible(ctx context.Context) (string, error) {
	k, why, err := u.find(ctx)
	if err != nil || why != "" {
		return why, err
	}
	return Unsupported(k, u.Version), nil
}

// find the KubeVirt, and say why there is none that could be upgraded.
func (u Upgrade) find(ctx context.Context) (*kubevirtv1.KubeVirt, string, error) {
	found := &kubevirtv1.KubeVirtList{}
	if err := u.Live.List(ctx, found, client.Limit(2)); err != nil && !existing.IsAbsent(err) {
		return nil, "", fmt.Errorf("listing KubeVirts: %w", err)
	}
	switch {
	case len(found.Items) == 0:
		return nil, withoutKubeVirt, nil
	case len(found.Items) > 1:
		return nil, fmt.Sprintf("there are %s and %s in the workload cluster, of which there may be one", nameOf(&found.Items[0]), nameOf(&found.Items[1])), nil
	}
	return &found.Items[0], "", nil
}

// managerOf a KubeVirt would revert a change of it; empty if it has none that is known.
// Source: hyperconverged-cluster-operator, controllers/operands.
func managerOf(k *kubevirtv1.KubeVirt) string {
	for _, owner := range k.OwnerReferences {
		if owner.Kind == "HyperConverged" {
			return owner.Kind + " " + owner.Name
		}
	}
	if by := k.Labels["app.kubernetes.io/managed-by"]; by == "hco-operator" {
		return by
	}
	return ""
}

// heldOf reads what is kept of a KubeVirt whose workload updates are held.
func heldOf(k *kubevirtv1.KubeVirt) (saved held, isHeld bool, why string) {
	value, isHeld := k.Annotations[infrav1.HeldWorkloadsAnnotation]
	if !isHeld {
		return held{}, false, ""
	}
	if err := json.Unmarshal([]byte(value), &saved); err != nil {
		return held{}, false, fmt.Sprintf("annotation %s of %s cannot be read (%v): remove it, and set spec.workloadUpdateStrategy as it is to be",
			infrav1.HeldWorkloadsAnnotation, nameOf(k), err)
	}
	return saved, true, ""
}

// hold the workload updates. What somebody has set again is reported, and not changed again.
func (u Upgrade) hold(ctx context.Context, k *kubevirtv1.KubeVirt, saved *held, isHeld bool) (string, error) {
	methods := k.Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods
	if isHeld && len(methods) > 0 {
		return fmt.Sprintf("another party has set spec.workloadUpdateStrategy.workloadUpdateMethods of %s again, by which virtual machines would be migrated twice: "+
			"set it to [] until the nodes are upgraded", nameOf(k)), nil
	}
	if isHeld {
		return "", nil
	}
	saved.Methods = slices.Clone(methods)
	return "", u.change(ctx, k, *saved, func(k *kubevirtv1.KubeVirt) { k.Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods = nil })
}

// setVersion sets the image tag, where the KubeVirt has one: one that has none follows its operator, and would be pinned.
func (u Upgrade) setVersion(ctx context.Context, k *kubevirtv1.KubeVirt, saved held, behind string, mayBegin func() (string, error)) (string, error) {
	if why := OperatorBehind(k, u.Version); why != "" {
		return why, nil
	}
	tag := k.Spec.ImageTag
	switch {
	case tag == "" || tag == u.Version:
		return behind, nil
	case saved.ImageTag == u.Version:
		return fmt.Sprintf("another party has set spec.imageTag of %s to %s, and it is not changed again: set it to %s", nameOf(k), tag, u.Version), nil
	}
	if why, err := mayBegin(); err != nil || why != "" {
		return why, err
	}
	saved.ImageTag = u.Version
	err := u.change(ctx, k, saved, func(k *kubevirtv1.KubeVirt) { k.Spec.ImageTag = u.Version })
	return fmt.Sprintf("%s is being updated to %s", nameOf(k), u.Version), err
}

// change a KubeVirt as it was read, with what is kept of it: two changes at the same time would lose one's methods.
func (u Upgrade) change(ctx context.Context, k *kubevirtv1.KubeVirt, saved held, change func(*kubevirtv1.KubeVirt)) error {
	value, err := json.Marshal(saved)
	if err != nil {
		return fmt.Errorf("encoding annotation %s: %w", infrav1.HeldWorkloadsAnnotation, err)
	}
	before := k.DeepCopy()
	if k.Annotations == nil {
		k.Annotations = map[string]string{}
	}
	k.Annotations[infrav1.HeldWorkloadsAnnotation] = string(value)
	change(k)
	return u.patch(ctx, k, before)
}

func (u Upgrade) patch(ctx context.Context, k, before *kubevirtv1.KubeVirt) error {
	if err := u.Live.Patch(ctx, k, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("changing %s: %w", nameOf(k), err)
	}
	return nil
}

// Restore puts back the workload updates that are held, whichever upgrade holds them, and says why it cannot. Methods that somebody has set since stay.
func (u Upgrade) Restore(ctx context.Context) (string, error) {
	k, why, err := u.find(ctx)
	if why == withoutKubeVirt {
		return "", nil
	}
	if err != nil || why != "" {
		return why, err
	}
	saved, isHeld, why := heldOf(k)
	if why != "" || !isHeld {
		return why, nil
	}
	before := k.DeepCopy()
	delete(k.Annotations, infrav1.HeldWorkloadsAnnotation)
	if len(k.Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods) == 0 {
		k.Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods = saved.Methods
	}
	return "", u.patch(ctx, k, before)
}
