// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
)

// applyRancher creates the cluster in Rancher, and waits until all of its machines have their first plan: from then on Rancher drains nodes.
func (c *Cluster) applyRancher(ctx context.Context) error {
	if err := c.ApplyManifest(ctx, "rancher.yaml.tmpl"); err != nil {
		return err
	}
	return Await(ctx, "Rancher to have provisioned the cluster", func(ctx context.Context) (string, error) {
		says, err := c.RancherSays(ctx)
		secrets, listErr := rancher.PlanSecrets(ctx, c.Lab.Kube, c.RancherKey())
		isDone := says == rancher.Done && len(secrets) == c.Options.Workers+c.Options.ControlPlane
		return unless(isDone, "%d plans; %s", len(secrets), says), client.IgnoreNotFound(firstOf(err, listErr))
	})
}

// RancherKey is the key of the cluster in Rancher, which Cluster API's has, too.
func (c *Cluster) RancherKey() client.ObjectKey {
	return client.ObjectKey{Namespace: c.Namespace(), Name: c.Options.Name}
}

// RancherSays what the cluster waits for; see rancher.Says.
func (c *Cluster) RancherSays(ctx context.Context) (string, error) {
	return rancher.Says(ctx, c.Lab.Kube, c.RancherKey())
}

// AwaitRancher waits until nothing is left to do for Rancher: all plans are applied, and all nodes uncordoned.
func (c *Cluster) AwaitRancher(ctx context.Context) error {
	return Await(ctx, "Rancher to have rolled the cluster", func(ctx context.Context) (string, error) {
		says, err := c.RancherSays(ctx)
		if err != nil || says != rancher.Done {
			return says + " ", err
		}
		isRolled, err := rancher.IsRolled(ctx, c.Lab.Kube, c.RancherKey())
		return unless(isRolled, "plans are not delivered yet"), err
	})
}

// PlanSecret of a Machine, as it is now.
func (c *Cluster) PlanSecret(ctx context.Context, machine *clusterv1.Machine) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, c.Lab.Kube.Get(ctx, rancher.PlanSecret(machine), secret)
}

// deploymentName is the name of the MachineDeployment of a pool.
func (c *Cluster) deploymentName(pool string) string {
	if c.Options.Rancher {
		return rancher.DeploymentName(c.Options.Name, pool)
	}
	return pool
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
