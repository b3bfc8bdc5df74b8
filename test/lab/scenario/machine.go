// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// CopyTemplate makes a template of a name like that of the workers.
func (c *Cluster) CopyTemplate(ctx context.Context, name string) error {
	return c.copyTemplate(ctx, Template, name)
}

func (c *Cluster) copyTemplate(ctx context.Context, from, name string) error {
	of, err := c.template(ctx, from)
	if err != nil {
		return err
	}
	made := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: name}, Spec: *of.Spec.DeepCopy()}
	if err := c.Lab.Kube.Create(ctx, made); err != nil {
		return fmt.Errorf("creating ElementalMachineTemplate %s: %w", name, err)
	}
	return nil
}

// Rotate has the workers' MachineDeployment refer to a copy of its template with another image, under a name that was not used before, as soon as the
// guard admits that. Cluster API updates the Machines then.
func (c *Cluster) Rotate(ctx context.Context, os image.Image) error {
	return c.RotatePool(ctx, Deployment, os)
}

// RotatePool does the same for the MachineDeployment of a pool.
func (c *Cluster) RotatePool(ctx context.Context, pool string, os image.Image) error {
	c.rotations++
	name := fmt.Sprintf("%s-r%d", pool, c.rotations)
	if err := c.copyTemplate(ctx, c.TemplateOf(pool), name); err != nil {
		return err
	}
	if err := c.PatchPool(ctx, name, os); err != nil {
		return err
	}
	return Await(ctx, "the reference to "+name, func(ctx context.Context) (string, error) {
		patch := `{"spec":{"template":{"spec":{"infrastructureRef":{"name":"` + name + `"}}}}}`
		if err := c.patch(ctx, "machinedeployment", pool, patch); err != nil {
			return err.Error(), nil
		}
		if c.rotated == nil {
			c.rotated = map[string]string{}
		}
		c.rotated[pool] = name
		return "", nil
	})
}

// ControlPlaneStandIn is an owner for Machines of a control plane: the lab's own kind, which has the name of the Cluster.
func (c *Cluster) ControlPlaneStandIn(ctx context.Context) (*metav1.OwnerReference, error) {
	of, err := c.Lab.ControlPlaneStandIn(ctx, c.Namespace(), c.Options.Name)
	if err != nil {
		return nil, err
	}
	return metav1.NewControllerRef(of, of.GroupVersionKind()), nil
}

// CreateMachine makes a Machine with an ElementalMachine from a template, as providers of control planes do, with the bootstrap data of a
// worker. Without a controller nobody owns it.
func (c *Cluster) CreateMachine(ctx context.Context, name, template string, controller *metav1.OwnerReference) error {
	bootstrap, err := c.copyBootstrap(ctx, name)
	if err != nil {
		return err
	}
	return c.CreateMachineWith(ctx, name, template, controller, clusterv1.Bootstrap{DataSecretName: &bootstrap})
}

// CreateMachineWith is CreateMachine with other bootstrap data.
func (c *Cluster) CreateMachineWith(ctx context.Context, name, template string, controller *metav1.OwnerReference, bootstrap clusterv1.Bootstrap) error {
	of, err := c.template(ctx, template)
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Namespace: c.Namespace(), Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: c.Options.Name}}
	if controller != nil {
		meta.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	machine, elemental := &clusterv1.Machine{ObjectMeta: *meta.DeepCopy()}, &infrav1.ElementalMachine{ObjectMeta: meta, Spec: *of.Spec.Template.Spec.DeepCopy()}
	if controller != nil {
		machine.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	machine.Spec = clusterv1.MachineSpec{
		ClusterName: c.Options.Name, Version: KubernetesVersion, Bootstrap: bootstrap,
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: name},
	}
	elemental.Annotations = map[string]string{
		clusterv1.TemplateClonedFromNameAnnotation:      template,
		clusterv1.TemplateClonedFromGroupKindAnnotation: infrav1.GroupVersion.WithKind(owner.ElementalMachineTemplateKind).GroupKind().String(),
	}
	for _, made := range []client.Object{elemental, machine} {
		if err := c.Lab.Kube.Create(ctx, made); err != nil {
			return fmt.Errorf("creating %T %s: %w", made, name, err)
		}
	}
	return nil
}

// AwaitMachines waits until Machines of these names run.
func (c *Cluster) AwaitMachines(ctx context.Context, names ...string) error {
	return Await(ctx, "Machines to run", func(ctx context.Context) (string, error) {
		for _, name := range names {
			machine := &clusterv1.Machine{}
			err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: name}, machine)
			if err != nil || machine.Status.Phase != string(clusterv1.MachinePhaseRunning) {
				return "Machine " + name + " is " + machine.Status.Phase, err
			}
		}
		return "", nil
	})
}

func (c *Cluster) template(ctx context.Context, name string) (*infrav1.ElementalMachineTemplate, error) {
	of := &infrav1.ElementalMachineTemplate{}
	if err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: name}, of); err != nil {
		return nil, fmt.Errorf("reading ElementalMachineTemplate %s: %w", name, err)
	}
	return of, nil
}

// copyBootstrap data of a worker, which its KubeadmConfig owns, for a Machine.
func (c *Cluster) copyBootstrap(ctx context.Context, machine string) (secret string, err error) {
	workers, err := c.PoolMachines(ctx, Deployment)
	if err != nil {
		return "", err
	}
	of := &corev1.Secret{}
	if err := c.Lab.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace(), Name: ptr.Deref(workers[0].Spec.Bootstrap.DataSecretName, "")}, of); err != nil {
		return "", fmt.Errorf("reading the bootstrap data of Machine %s: %w", workers[0].Name, err)
	}
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: machine + "-bootstrap", Labels: of.Labels}, Type: of.Type, Data: of.Data}
	if err := c.Lab.Kube.Create(ctx, made); err != nil {
		return "", fmt.Errorf("creating the bootstrap data of Machine %s: %w", machine, err)
	}
	return made.Name, nil
}

// AwaitRolledOut waits until a template is rolled out with the content that it has now, and not with that before a patch.
func (c *Cluster) AwaitRolledOut(ctx context.Context, name string) error {
	template, err := c.template(ctx, name)
	if err != nil {
		return err
	}
	return Await(ctx, "ElementalMachineTemplate "+name+" to be rolled out", func(ctx context.Context) (string, error) {
		said, err := c.TemplateCondition(ctx, name, infrav1.RolledOutCondition)
		isNow := said.Status == metav1.ConditionTrue && said.ObservedGeneration >= template.Generation
		return unless(isNow, "%s: %s", said.Reason, said.Message), err
	})
}
