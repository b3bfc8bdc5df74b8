// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// +kubebuilder:rbac:groups=rke.cattle.io,resources=rkecontrolplanes,verbs=get

// Tier of Nodes, with drain options of its own.
type Tier string

// Tiers of Nodes. Those with etcd only are drained by the options of the control plane.
const (
	ControlPlaneTier Tier = "controlPlane"
	WorkerTier       Tier = "worker"
)

// TierOf the Node of a Machine.
func TierOf(machine *clusterv1.Machine) Tier {
	if util.IsControlPlaneMachine(machine) || machine.Labels[etcdLabel] == "true" {
		return ControlPlaneTier
	}
	return WorkerTier
}

// ControlPlane is what is read of an RKEControlPlane.
type ControlPlane struct{ object map[string]any }

// ControlPlaneOf a Cluster that Rancher has provisioned, live; nil if it does not exist.
// Source of the fields: rancher/rancher, pkg/apis/rke.cattle.io/v1.
func ControlPlaneOf(ctx context.Context, live client.Reader, cluster *clusterv1.Cluster) (*ControlPlane, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: Group, Version: "v1", Kind: ControlPlaneKind})
	name := cluster.Spec.ControlPlaneRef.Name
	if err := live.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, object); err != nil {
		return nil, existing.UnlessAbsent(err, "reading RKEControlPlane "+name)
	}
	return &ControlPlane{object: object.Object}, nil
}

// MissingHooks are those of our hooks that the drain options of a tier lack, each with the field that it belongs to.
func (c *ControlPlane) MissingHooks(of Tier) []string {
	missing := []string{}
	for _, hook := range []struct{ field, annotation string }{
		{"preDrainHooks", infrav1.RancherPreDrainAnnotation}, {"postDrainHooks", infrav1.RancherPostDrainAnnotation},
	} {
		if !c.hasHook(of, hook.field, hook.annotation) {
			missing = append(missing, fmt.Sprintf("%sDrainOptions.%s: %s", of, hook.field, hook.annotation))
		}
	}
	return missing
}

func (c *ControlPlane) hasHook(of Tier, field, annotation string) bool {
	hooks, _, _ := unstructured.NestedSlice(c.object, "spec", "upgradeStrategy", string(of)+"DrainOptions", field)
	return slices.ContainsFunc(hooks, func(hook any) bool {
		fields, isOne := hook.(map[string]any)
		return isOne && fields["annotation"] == annotation
	})
}

// Concurrency says how many Nodes of a tier Rancher drains at a time, where that is more than a number; empty if it is not, or is
// a share of the Nodes. The default is 1, and "0" is no limit.
func (c *ControlPlane) Concurrency(most int32) string {
	for _, tier := range []Tier{ControlPlaneTier, WorkerTier} {
		field := string(tier) + "Concurrency"
		value, _, _ := unstructured.NestedString(c.object, "spec", "upgradeStrategy", field)
		if count, err := strconv.Atoi(value); err == nil && (count == 0 || count > int(most)) {
			return fmt.Sprintf("upgradeStrategy.%s is %q", field, value)
		}
	}
	return ""
}

// ReadyMessage is what Rancher says of the progress of its own upgrade; empty if it says nothing.
func (c *ControlPlane) ReadyMessage() string {
	conditions, _, _ := unstructured.NestedSlice(c.object, "status", "conditions")
	for _, condition := range conditions {
		fields, isOne := condition.(map[string]any)
		if !isOne || fields["type"] != "Ready" {
			continue
		}
		message, _ := fields["message"].(string)
		return message
	}
	return ""
}
