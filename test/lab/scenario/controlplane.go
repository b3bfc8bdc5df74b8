// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// registerControlPlane powers the hosts of the control plane on, and approves each once it has registered.
func (c *Cluster) registerControlPlane(ctx context.Context) error {
	if c.Options.ControlPlane == 0 {
		return nil
	}
	if err := c.ApplyManifest(ctx, "control-plane-registration.yaml.tmpl"); err != nil {
		return err
	}
	config, err := c.Lab.AgentConfig(ctx, c.Namespace(), ControlPlaneRegistration)
	if err != nil {
		return err
	}
	for n := range c.Options.ControlPlane {
		name := c.ControlPlaneHostName(n + 1)
		if _, err := c.Lab.AddHostOf(ctx, c.Workload(), name, c.Image, config); err != nil {
			return err
		}
		if err := c.approve(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// approve approves a host, as an operator does who has verified its identity.
func (c *Cluster) approve(ctx context.Context, name string) error {
	err := Await(ctx, "ElementalHost "+name+" to register", func(ctx context.Context) (string, error) {
		err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: name}, &infrav1.ElementalHost{})
		return unless(err == nil, "not yet"), client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	_, err = c.Kubectl(ctx, "--namespace", c.Namespace(), "patch", "elementalhost", name, "--type", "merge", "--patch", `{"spec":{"approved":true}}`)
	return err
}

// controlPlaneRack is the label of the hosts of the control plane.
func (c *Cluster) controlPlaneRack() string { return c.Options.Name + "-control-plane" }

func (c *Cluster) isOfControlPlane(host *infrav1.ElementalHost) bool {
	return host.Labels["rack"] == c.controlPlaneRack()
}

// PatchControlPlaneImage patches the OS image of the control plane's template.
func (c *Cluster) PatchControlPlaneImage(ctx context.Context, os image.Image) error {
	return c.PatchPool(ctx, ControlPlaneTemplate, os)
}

// KubeadmControlPlane of the cluster.
func (c *Cluster) KubeadmControlPlane(ctx context.Context) (*controlplanev1.KubeadmControlPlane, error) {
	kcp := &controlplanev1.KubeadmControlPlane{}
	return kcp, c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: ControlPlane}, kcp)
}

// ControlPlaneMachines of the cluster, by name.
func (c *Cluster) ControlPlaneMachines(ctx context.Context) ([]clusterv1.Machine, error) {
	machines, err := c.Machines(ctx)
	return slices.DeleteFunc(machines, func(m clusterv1.Machine) bool { return !util.IsControlPlaneMachine(&m) }), err
}

// controlPlaneKind of the cluster.
func (c *Cluster) controlPlaneKind() string {
	if c.Options.RKE2 {
		return owner.RKE2ControlPlaneKind
	}
	return owner.KubeadmControlPlaneKind
}

// ControlPlaneReference is the template that the control plane refers to.
func (c *Cluster) ControlPlaneReference(ctx context.Context) (string, error) {
	object := owner.NewControlPlane(c.controlPlaneKind())
	if err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: ControlPlane}, object); err != nil {
		return "", err
	}
	controlPlane, _ := owner.ForControlPlane(object)
	return owner.TemplateName(controlPlane), nil
}

// PatchControlPlane patches the spec of the control plane.
func (c *Cluster) PatchControlPlane(ctx context.Context, spec string) error {
	return c.patch(ctx, strings.ToLower(c.controlPlaneKind()), ControlPlane, `{"spec":`+spec+`}`)
}

// PointControlPlane makes the control plane refer to a template, as somebody does who rotates templates.
func (c *Cluster) PointControlPlane(ctx context.Context, template string) error {
	return c.PatchControlPlane(ctx, `{"machineTemplate":{"spec":{"infrastructureRef":{"name":"`+template+`"}}}}`)
}

// AwaitControlPlaneTemplate waits until the control plane's provider has brought all of its Machines to a template.
func (c *Cluster) AwaitControlPlaneTemplate(ctx context.Context, template string) error {
	return Await(ctx, "all Machines of the control plane to be made from "+template, func(ctx context.Context) (string, error) {
		machines := &infrav1.ElementalMachineList{}
		if err := c.Lab.Kube.List(ctx, machines, client.InNamespace(c.Namespace()), client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
			return "", fmt.Errorf("listing ElementalMachines: %w", err)
		}
		for i := range machines.Items {
			if made := owner.MadeFrom(&machines.Items[i]); made != template {
				return "ElementalMachine " + machines.Items[i].Name + " was made from " + made, nil
			}
		}
		return "", nil
	})
}

// CopyControlPlaneTemplate makes a template of a name that wants an image, otherwise like that of the control plane.
func (c *Cluster) CopyControlPlaneTemplate(ctx context.Context, name string, os image.Image) error {
	of := &infrav1.ElementalMachineTemplate{}
	if err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: ControlPlaneTemplate}, of); err != nil {
		return err
	}
	of.ObjectMeta = metav1.ObjectMeta{Namespace: c.Namespace(), Name: name}
	of.Spec.Template.Spec.OSVersionManagement = osversion.OfImage(os.URI())
	return c.Lab.Kube.Create(ctx, of)
}
