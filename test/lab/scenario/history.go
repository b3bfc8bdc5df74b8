// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

const (
	// attemptsPerHost is the history limit of the controller.
	attemptsPerHost = 10
	// writers is the number of attempts that are written concurrently.
	writers = 8
)

// AddHistory gives each host of a Cluster in the namespace, with the Machine that it serves, as many ended attempts as
// the controller keeps, copied from one that has ended. The Cluster, hosts and Machines do not have to exist.
func (c *Cluster) AddHistory(ctx context.Context, model *infrav1.ElementalHostUpgrade, cluster string, hosts map[string]string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for host, machine := range hosts {
		for i := range attemptsPerHost {
			group.Go(func() error { return c.addEnded(ctx, ended(model, cluster, host, machine, i), model) })
		}
	}
	return group.Wait()
}

func ended(model *infrav1.ElementalHostUpgrade, cluster, host, machine string, number int) *infrav1.ElementalHostUpgrade {
	made := &infrav1.ElementalHostUpgrade{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: model.Namespace, Name: fmt.Sprintf("%s-past-%d", host, number),
			Labels:      map[string]string{clusterv1.ClusterNameLabel: cluster, infrav1.MachineNameLabel: machine},
			Annotations: map[string]string{infrav1.EndedAnnotation: string(model.Status.Phase)},
		},
		Spec: *model.Spec.DeepCopy(),
	}
	made.Spec.ClusterName, made.Spec.HostName, made.Spec.MachineName, made.Spec.ElementalMachineName = cluster, host, machine, machine
	return made
}

func (c *Cluster) addEnded(ctx context.Context, made, model *infrav1.ElementalHostUpgrade) error {
	host := made.Spec.HostName
	if err := c.Lab.Kube.Create(ctx, made); err != nil {
		return fmt.Errorf("adding an ended attempt of host %s: %w", host, err)
	}
	before := made.DeepCopy() // the manager may already have changed it
	made.Status = *model.Status.DeepCopy()
	made.Status.NodeName = host
	if err := c.Lab.Kube.Status().Patch(ctx, made, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("ending an attempt of host %s: %w", host, err)
	}
	return nil
}
