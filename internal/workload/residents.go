// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// With has the cluster know residents. They are gone through in this order. Default: none.
func (c *Cluster) With(residents ...Resident) *Cluster {
	c.residents = residents
	return c
}

// Residents that the cluster may have.
func (c *Cluster) Residents() Residents { return c.residents }

// servingPods select the Pods of residents that serve volumes.
func (c *Cluster) servingPods() []clusterv1.MachineDrainRulePodSelector {
	serving := []clusterv1.MachineDrainRulePodSelector{}
	for _, resident := range c.residents {
		serving = append(serving, resident.ServingPods()...)
	}
	return serving
}

// refusedBecause says for whose sake residents refuse evictions, as a part of a message.
func (c *Cluster) refusedBecause(ctx context.Context, node string, pods []*corev1.Pod) (string, error) {
	because := ""
	for _, resident := range c.residents {
		more, err := resident.RefusedBecause(ctx, c, node, pods)
		if err != nil {
			return "", err
		}
		because += more
	}
	return because, nil
}

// AttachedByResidents names the volumes of residents that keep the Node from going down; see Resident.
func (c *Cluster) AttachedByResidents(ctx context.Context, node string) ([]string, error) {
	attached := []string{}
	for _, resident := range c.residents {
		more, err := resident.Attached(ctx, c, node)
		if err != nil {
			return nil, err
		}
		attached = append(attached, more...)
	}
	return attached, nil
}

// HoldResidents keeps residents from making up for what is on the attempt's Node while that is down.
func (c *Cluster) HoldResidents(ctx context.Context, attempt string) error {
	for _, resident := range c.residents {
		if err := resident.Hold(ctx, c, attempt); err != nil {
			return err
		}
	}
	return nil
}

// ReleaseResidents takes that back of all residents, also where one of them fails: the caller may not try again.
func (c *Cluster) ReleaseResidents(ctx context.Context, attempt string, living Living) error {
	var errs []error
	for _, resident := range c.residents {
		errs = append(errs, resident.Release(ctx, c, attempt, living))
	}
	return errors.Join(errs...)
}

// Unsettled says what the first resident waits for that is not as good on the Node as it was before the moment; empty if
// all are.
func (c *Cluster) Unsettled(ctx context.Context, node string, since time.Time) (waitFor string, err error) {
	for _, resident := range c.residents {
		if waitFor, err := resident.Unsettled(ctx, c, node, since); err != nil || waitFor != "" {
			return waitFor, err
		}
	}
	return "", nil
}
