// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lookAgain is the interval at which something is looked for of which no event tells.
const lookAgain = time.Second

// bootstraps makes the plan Secret and the bootstrap data of each machine.
type bootstraps struct{ kube client.Client }

func (b *bootstraps) setUp(name string, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(name).WithOptions(many()).For(newObject(BootstrapKind, "", "")).Complete(b)
}

// Reconcile implements reconcile.Reconciler.
func (b *bootstraps) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	bootstrap := newObject(BootstrapKind, request.Namespace, request.Name)
	if err := b.kube.Get(ctx, request.NamespacedName, bootstrap); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !bootstrap.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, nil
	}
	machine, err := util.GetOwnerMachine(ctx, b.kube, metav1.ObjectMeta{Namespace: request.Namespace, OwnerReferences: bootstrap.GetOwnerReferences()})
	if err != nil || machine == nil {
		return ctrl.Result{RequeueAfter: lookAgain}, client.IgnoreNotFound(err)
	}
	cluster := &clusterv1.Cluster{}
	if err := b.kube.Get(ctx, client.ObjectKey{Namespace: request.Namespace, Name: machine.Spec.ClusterName}, cluster); err != nil {
		return ctrl.Result{}, fmt.Errorf("reading Cluster %s: %w", machine.Spec.ClusterName, err)
	}
	if ptr.Deref(cluster.Spec.Paused, false) || !ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	return ctrl.Result{}, b.fulfil(ctx, bootstrap, machine, cluster)
}

func (b *bootstraps) fulfil(ctx context.Context, bootstrap *unstructured.Unstructured, machine *clusterv1.Machine, cluster *clusterv1.Cluster) error {
	labels := map[string]string{
		MachineNameLabel: machine.Name, ClusterNameLabel: machine.Spec.ClusterName, bootstrapNameLabel: bootstrap.GetName(),
		clusterv1.ClusterNameLabel: machine.Spec.ClusterName,
	}
	if err := b.create(ctx, bootstrap, bootstrapSecretType, bootstrapSecretName(bootstrap.GetName()), labels, map[string][]byte{
		"format": []byte("cloud-config"), "value": bootstrapData(machine, cluster),
	}); err != nil {
		return err
	}
	maps.Copy(labels, machine.Labels)
	maps.Copy(labels, lifecycle("cluster", clusterv1.ClusterKind, machine.Spec.ClusterName))
	maps.Copy(labels, lifecycle("machine", "Machine", machine.Name))
	if err := b.create(ctx, bootstrap, PlanSecretType, planSecretName(bootstrap.GetName()), labels, nil); err != nil {
		return err
	}
	before := bootstrap.DeepCopy()
	bootstrap.Object["status"] = map[string]any{
		"dataSecretName": bootstrapSecretName(bootstrap.GetName()), "ready": true,
		"initialization": map[string]any{"dataSecretCreated": true},
	}
	return b.kube.Status().Patch(ctx, bootstrap, client.MergeFrom(before))
}

// lifecycle are the labels by which Rancher, since 2.15, finds out whose a plan Secret is.
func lifecycle(of, kind, name string) map[string]string {
	return map[string]string{
		lifecyclePrefix + of + "-group": clusterv1.GroupVersion.Group,
		lifecyclePrefix + of + "-kind":  kind,
		lifecyclePrefix + of + "-name":  name,
	}
}

func (b *bootstraps) create(ctx context.Context, of *unstructured.Unstructured, kind corev1.SecretType, name string, labels map[string]string, data map[string][]byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: of.GetNamespace(), Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, BootstrapKind)},
		},
		Type: kind, Data: data,
	}
	if err := b.kube.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Secret %s: %w", name, err)
	}
	return nil
}

func bootstrapSecretName(bootstrap string) string { return bootstrap + "-machine-bootstrap" }

// isServer reports whether the Machine runs a server of RKE2, and not just its agent.
func isServer(labels map[string]string) bool {
	return labels[EtcdLabel] == roleValue || labels[ControlPlaneLabel] == roleValue
}

// bootstrapData make a host of the lab join. In reality they install an agent, which executes the plan by which RKE2 is installed.
func bootstrapData(machine *clusterv1.Machine, cluster *clusterv1.Cluster) []byte {
	const format = `#cloud-config
write_files:
- path: /etc/rancher/rke2/config.yaml
  permissions: "0600"
  content: |
    token: %s
    server: https://%s:9345
runcmd:
- systemctl start %s.service
`
	unit := "rke2-agent"
	if isServer(machine.Labels) {
		unit = "rke2-server"
	}
	return fmt.Appendf(nil, format, joinToken, cluster.Spec.ControlPlaneEndpoint.Host, unit)
}

// joinToken is what a plan must never be read for.
const joinToken = "K10secret::server:played"
