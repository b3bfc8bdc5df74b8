// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"encoding/json"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// Names of the objects that the manifests of a ClusterClass create.
const (
	ClassName = "edge"
	// ClassTemplate is the ElementalMachineTemplate, and the KubeadmConfigTemplate, of the class's workers.
	ClassTemplate = "edge-workers"
	// InlineVariable is the variable of the OS image, which a patch in the class itself applies.
	InlineVariable = "osImage"
	// FileVariable is the variable with the content of a file in the kubeadm configuration.
	FileVariable = "motd"
)

// applyClass applies the class and a cluster of it. The topology chooses the name of the control plane.
func (c *Cluster) applyClass(ctx context.Context) error {
	for _, manifest := range []string{"class.yaml.tmpl", "topology.yaml.tmpl"} {
		if err := c.ApplyManifest(ctx, manifest); err != nil {
			return err
		}
	}
	if c.Options.ControlPlane > 0 {
		return nil
	}
	err := Await(ctx, "the topology to make a control plane", func(ctx context.Context) (string, error) {
		cluster, err := c.object(ctx)
		if err != nil {
			return "", err
		}
		return unless(cluster.Spec.ControlPlaneRef.IsDefined(), "none yet; %s", topologySays(cluster)), nil
	})
	if err != nil {
		return err
	}
	return c.FinishControlPlane(ctx)
}

// FinishControlPlane sets the control plane stand-in initialized, at the version that the topology wants.
func (c *Cluster) FinishControlPlane(ctx context.Context) error {
	cluster, err := c.object(ctx)
	if err != nil {
		return err
	}
	return c.Lab.InitializeControlPlane(ctx, c.Namespace(), cluster.Spec.ControlPlaneRef.Name)
}

// ControlPlaneVersion is the Kubernetes version that the topology sets on the control plane stand-in.
func (c *Cluster) ControlPlaneVersion(ctx context.Context) (string, error) {
	cluster, err := c.object(ctx)
	if err != nil {
		return "", err
	}
	return c.Lab.ControlPlaneVersion(ctx, c.Namespace(), cluster.Spec.ControlPlaneRef.Name)
}

// object is the Cluster.
func (c *Cluster) object(ctx context.Context) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	if err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: c.Options.Name}, cluster); err != nil {
		return nil, fmt.Errorf("reading Cluster %s: %w", c.Options.Name, err)
	}
	return cluster, nil
}

func topologySays(cluster *clusterv1.Cluster) string {
	if conditions.IsTrue(cluster, clusterv1.ClusterTopologyReconciledCondition) {
		return ""
	}
	return conditions.GetMessage(cluster, clusterv1.ClusterTopologyReconciledCondition)
}

// TopologyError is the message of the condition TopologyReconciled of the Cluster while it is not True.
func (c *Cluster) TopologyError(ctx context.Context) (string, error) {
	cluster, err := c.object(ctx)
	if err != nil {
		return "", err
	}
	return topologySays(cluster), nil
}

// Touch annotates the Cluster, which triggers the topology controller.
func (c *Cluster) Touch(ctx context.Context, value string) error {
	return c.patch(ctx, "cluster", c.Options.Name, fmt.Sprintf(`{"metadata":{"annotations":{"example.com/touched":%q}}}`, value))
}

// SetVariables replaces the variables of the Cluster's topology.
func (c *Cluster) SetVariables(ctx context.Context, values map[string]string) error {
	variables := []map[string]string{}
	for name, value := range values {
		variables = append(variables, map[string]string{"name": name, "value": value})
	}
	return c.PatchTopology(ctx, map[string]any{"variables": variables})
}

// PatchTopology patches spec.topology of the Cluster.
func (c *Cluster) PatchTopology(ctx context.Context, topology map[string]any) error {
	encoded, err := json.Marshal(map[string]any{"spec": map[string]any{"topology": topology}})
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	return c.patch(ctx, "cluster", c.Options.Name, string(encoded))
}

// SetMaxSurge sets maxSurge in the topology of the first pool.
func (c *Cluster) SetMaxSurge(ctx context.Context, surge int) error {
	const path = "/spec/topology/workers/machineDeployments/0/rollout"
	strategy := fmt.Sprintf(`{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":%d,"maxUnavailable":1}}}`, surge)
	return c.jsonPatch(ctx, "cluster", c.Options.Name, fmt.Sprintf(`[{"op":"add","path":%q,"value":%s}]`, path, strategy))
}

// SwapTemplate makes the class refer to a new ElementalMachineTemplate with the image.
func (c *Cluster) SwapTemplate(ctx context.Context, name string, os image.Image) error {
	template := &infrav1.ElementalMachineTemplate{}
	if err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: ClassTemplate}, template); err != nil {
		return fmt.Errorf("reading ElementalMachineTemplate %s: %w", ClassTemplate, err)
	}
	swapped := &infrav1.ElementalMachineTemplate{Spec: *template.Spec.DeepCopy()}
	swapped.Namespace, swapped.Name = c.Namespace(), name
	swapped.Spec.Template.Spec.OSVersionManagement = osversion.OfImage(os.URI())
	if err := c.Lab.Kube.Create(ctx, swapped); err != nil {
		return fmt.Errorf("creating ElementalMachineTemplate %s: %w", name, err)
	}
	const path = "/spec/workers/machineDeployments/0/infrastructure/templateRef/name"
	return c.jsonPatch(ctx, "clusterclass", ClassName, fmt.Sprintf(`[{"op":"replace","path":%q,"value":%q}]`, path, name))
}

func (c *Cluster) jsonPatch(ctx context.Context, kind, name, patch string) error {
	_, err := c.Kubectl(ctx, "--namespace", c.Namespace(), "patch", kind, name, "--type", "json", "--patch", patch)
	return err
}
