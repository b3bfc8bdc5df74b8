// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change changes the spec of a cluster, as its user does in Rancher.
func (r *Rancher) Change(ctx context.Context, cluster client.ObjectKey, change func(*ClusterSpec)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object := newObject(ClusterKind, cluster.Namespace, cluster.Name)
		if err := r.kube.Get(ctx, cluster, object); err != nil {
			return fmt.Errorf("reading Rancher's cluster %s: %w", cluster.Name, err)
		}
		spec, err := specOf[ClusterSpec](object)
		if err != nil {
			return err
		}
		before := object.DeepCopy()
		change(&spec)
		if err := setSpec(object, spec); err != nil {
			return err
		}
		return r.kube.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}

// RaiseProvisionGeneration rolls all nodes, without any other change, and returns the generation.
func (r *Rancher) RaiseProvisionGeneration(ctx context.Context, cluster client.ObjectKey) (generation int64, err error) {
	err = r.roll(ctx, cluster, func(spec *ClusterSpec) {
		spec.RKEConfig.ProvisionGeneration++
		generation = spec.RKEConfig.ProvisionGeneration
	})
	return generation, err
}

// SetKubernetesVersion rolls all nodes to another version of Kubernetes, which no kubelet has to report.
func (r *Rancher) SetKubernetesVersion(ctx context.Context, cluster client.ObjectKey, version string) error {
	return r.roll(ctx, cluster, func(spec *ClusterSpec) { spec.KubernetesVersion = version })
}

// roll changes what nodes are rolled for, and remembers what it was.
func (r *Rancher) roll(ctx context.Context, cluster client.ObjectKey, change func(*ClusterSpec)) error {
	return r.Change(ctx, cluster, func(spec *ClusterSpec) {
		r.mu.Lock()
		r.former[cluster] = *spec
		r.mu.Unlock()
		change(spec)
	})
}

// Revert takes the last change by RaiseProvisionGeneration or SetKubernetesVersion back. Drains that were asked for are not withdrawn.
func (r *Rancher) Revert(ctx context.Context, cluster client.ObjectKey) error {
	r.mu.Lock()
	former, isKnown := r.former[cluster]
	r.mu.Unlock()
	if !isKnown {
		return fmt.Errorf("reverting Rancher's cluster %s: it was not rolled", cluster.Name)
	}
	return r.Change(ctx, cluster, func(spec *ClusterSpec) {
		spec.KubernetesVersion, spec.RKEConfig.ProvisionGeneration = former.KubernetesVersion, former.RKEConfig.ProvisionGeneration
	})
}

// SetDrainOptions sets those of control planes and etcd, and of workers. Nothing is rolled for them.
func (r *Rancher) SetDrainOptions(ctx context.Context, cluster client.ObjectKey, controlPlane, worker DrainOptions) error {
	return r.Change(ctx, cluster, func(spec *ClusterSpec) {
		spec.RKEConfig.UpgradeStrategy.ControlPlaneDrainOptions, spec.RKEConfig.UpgradeStrategy.WorkerDrainOptions = controlPlane, worker
	})
}

// SetConcurrency sets how many control planes, and how many workers, may be unavailable: "2", "20%", "0" without limit, "" for one.
func (r *Rancher) SetConcurrency(ctx context.Context, cluster client.ObjectKey, controlPlane, worker string) error {
	return r.Change(ctx, cluster, func(spec *ClusterSpec) {
		spec.RKEConfig.UpgradeStrategy.ControlPlaneConcurrency, spec.RKEConfig.UpgradeStrategy.WorkerConcurrency = controlPlane, worker
	})
}

// PlanSecrets of the machines of a cluster.
func PlanSecrets(ctx context.Context, kube client.Reader, cluster client.ObjectKey) ([]corev1.Secret, error) {
	list := &corev1.SecretList{}
	err := kube.List(ctx, list, client.InNamespace(cluster.Namespace), client.MatchingLabels{ClusterNameLabel: cluster.Name})
	found := []corev1.Secret{}
	for i := range list.Items {
		if list.Items[i].Type == PlanSecretType {
			found = append(found, list.Items[i])
		}
	}
	return found, err
}

// PlanSecret is the key of the plan Secret of a Machine.
func PlanSecret(machine *clusterv1.Machine) client.ObjectKey {
	return client.ObjectKey{Namespace: machine.Namespace, Name: planSecretName(machine.Spec.Bootstrap.ConfigRef.Name)}
}

// Answer sets the annotation of a hook on a plan Secret to the token of the drain that is asked for by then, as a hook does.
func Answer(ctx context.Context, kube client.Client, secret client.ObjectKey, hook string) error {
	found := &corev1.Secret{}
	if err := kube.Get(ctx, secret, found); err != nil {
		return fmt.Errorf("reading Secret %s: %w", secret.Name, err)
	}
	return Annotate(ctx, kube, secret, hook, found.Annotations[DrainOptionsAnnotation])
}

// Annotate sets an annotation of a plan Secret.
func Annotate(ctx context.Context, kube client.Client, secret client.ObjectKey, key, value string) error {
	object := &corev1.Secret{}
	object.Namespace, object.Name = secret.Namespace, secret.Name
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	return kube.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

func planSecretName(bootstrap string) string { return bootstrap + "-machine-plan" }

// Done is what Says returns when nothing has to be waited for.
const Done = "True: "

// IsRolled reports whether the machines of a cluster have the plan that its spec of now asks for.
func IsRolled(ctx context.Context, kube client.Reader, cluster client.ObjectKey) (bool, error) {
	object := newObject(ClusterKind, cluster.Namespace, cluster.Name)
	if err := kube.Get(ctx, cluster, object); err != nil {
		return false, fmt.Errorf("reading Rancher's cluster %s: %w", cluster.Name, err)
	}
	spec, err := specOf[ClusterSpec](object)
	if err != nil {
		return false, err
	}
	wanted, err := encodePlan(planeSpec{KubernetesVersion: spec.KubernetesVersion, ProvisionGeneration: spec.RKEConfig.ProvisionGeneration})
	if err != nil {
		return false, err
	}
	secrets, err := PlanSecrets(ctx, kube, cluster)
	for i := range secrets {
		if !bytes.Equal(secrets[i].Data[appliedPlanKey], wanted) || secrets[i].Annotations[DrainOptionsAnnotation] != "" {
			return false, err
		}
	}
	return len(secrets) > 0, err
}

// Says is condition Ready of the control plane of a cluster with its message, as "False: draining worker node(s) ...".
func Says(ctx context.Context, kube client.Reader, cluster client.ObjectKey) (string, error) {
	plane := newObject(ControlPlaneKind, cluster.Namespace, cluster.Name)
	if err := kube.Get(ctx, cluster, plane); err != nil {
		return "", fmt.Errorf("reading RKEControlPlane %s: %w", cluster.Name, err)
	}
	conditions, _, err := unstructured.NestedSlice(plane.Object, "status", "conditions")
	if err != nil || len(conditions) == 0 {
		return "", err
	}
	ready := conditions[0].(map[string]any)
	return fmt.Sprintf("%s: %s", ready["status"], ready["message"]), nil
}

// Strategy is what the control plane of a cluster is rolled by.
func Strategy(ctx context.Context, kube client.Reader, cluster client.ObjectKey) (UpgradeStrategy, error) {
	plane := newObject(ControlPlaneKind, cluster.Namespace, cluster.Name)
	if err := kube.Get(ctx, cluster, plane); err != nil {
		return UpgradeStrategy{}, fmt.Errorf("reading RKEControlPlane %s: %w", cluster.Name, err)
	}
	spec, err := specOf[planeSpec](plane)
	return spec.UpgradeStrategy, err
}
