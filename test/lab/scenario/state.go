// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Machines of the cluster, by name.
func (c *Cluster) Machines(ctx context.Context) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	err := c.Lab.Kube.List(ctx, list, client.InNamespace(c.Namespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: c.Options.Name})
	return sorted(list.Items, err, func(m clusterv1.Machine) string { return m.Name })
}

// PoolMachines are those of a pool, by name. ControlPlane is a pool too.
func (c *Cluster) PoolMachines(ctx context.Context, pool string) ([]clusterv1.Machine, error) {
	if pool == ControlPlane {
		return c.ControlPlaneMachines(ctx)
	}
	machines, err := c.Machines(ctx)
	return slices.DeleteFunc(machines, func(m clusterv1.Machine) bool {
		return m.Labels[clusterv1.MachineDeploymentNameLabel] != c.deploymentName(pool)
	}), err
}

// Hosts that have registered, by name.
func (c *Cluster) Hosts(ctx context.Context) ([]infrav1.ElementalHost, error) {
	list := &infrav1.ElementalHostList{}
	_, rack := c.registration()
	racks, err := labels.NewRequirement("rack", selection.In, []string{rack, c.controlPlaneRack()})
	if err != nil {
		return nil, fmt.Errorf("listing hosts: %w", err)
	}
	err = c.Lab.Kube.List(ctx, list, client.InNamespace(c.Namespace()), client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*racks)})
	return sorted(list.Items, err, func(h infrav1.ElementalHost) string { return h.Name })
}

// Attempts of the cluster, oldest first.
func (c *Cluster) Attempts(ctx context.Context) ([]infrav1.ElementalHostUpgrade, error) {
	list := &infrav1.ElementalHostUpgradeList{}
	err := c.Lab.Kube.List(ctx, list, client.InNamespace(c.Namespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: c.Options.Name})
	return sorted(list.Items, err, func(u infrav1.ElementalHostUpgrade) string {
		return u.CreationTimestamp.UTC().Format("2006-01-02T15:04:05") + u.Name
	})
}

// Nodes of the workload cluster, by name.
func (c *Cluster) Nodes(ctx context.Context) ([]corev1.Node, error) {
	list := &corev1.NodeList{}
	err := c.WorkloadKube().List(ctx, list)
	return sorted(list.Items, err, func(n corev1.Node) string { return n.Name })
}

func sorted[T any](items []T, err error, by func(T) string) ([]T, error) {
	if err != nil {
		return nil, fmt.Errorf("listing %T: %w", items, err)
	}
	slices.SortFunc(items, func(a, b T) int { return cmp.Compare(by(a), by(b)) })
	return items, nil
}

// Identity of a worker, which an in-place upgrade must not change.
type Identity struct {
	MachineUID, Node, ProviderID, Host string
}

// Identities of the workers, by Node.
func (c *Cluster) Identities(ctx context.Context) ([]Identity, error) {
	machines, err := c.Machines(ctx)
	if err != nil {
		return nil, err
	}
	identities := make([]Identity, 0, len(machines))
	for i := range machines {
		m := &machines[i]
		identities = append(identities, Identity{
			MachineUID: string(m.UID), Node: m.Status.NodeRef.Name, ProviderID: m.Spec.ProviderID, Host: m.Spec.InfrastructureRef.Name,
		})
	}
	return sorted(identities, nil, func(i Identity) string { return i.Node })
}

func (c *Cluster) webReady(ctx context.Context) (bool, error) {
	web := &appsv1.Deployment{}
	if err := c.Lab.WorkloadKube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web"}, web); err != nil {
		return false, fmt.Errorf("reading Deployment web: %w", err)
	}
	return web.Status.ReadyReplicas == *web.Spec.Replicas, nil
}

// isUpdating reports whether Cluster API is updating a Machine in place.
func isUpdating(machine *clusterv1.Machine) bool {
	_, updating := machine.Annotations[clusterv1.UpdateInProgressAnnotation]
	return updating
}

// TemplateCondition is a condition of an ElementalMachineTemplate; empty while it has none of that type.
func (c *Cluster) TemplateCondition(ctx context.Context, name, condition string) (metav1.Condition, error) {
	template := &infrav1.ElementalMachineTemplate{}
	err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: name}, template)
	return ptr.Deref(conditions.Get(template, condition), metav1.Condition{}), err
}

// Identity of a Machine.
func (c *Cluster) Identity(ctx context.Context, machine string) (Identity, error) {
	of := &clusterv1.Machine{}
	if err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: machine}, of); err != nil {
		return Identity{}, err
	}
	all, err := c.Identities(ctx)
	if err != nil {
		return Identity{}, err
	}
	at := slices.IndexFunc(all, func(identity Identity) bool { return identity.MachineUID == string(of.UID) })
	if at < 0 {
		return Identity{}, fmt.Errorf("looking for Machine %s: it is not one of the cluster", machine)
	}
	return all[at], nil
}
