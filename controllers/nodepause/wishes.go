// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepause

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/hooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// wish is the rollout that the owner of a Machine wants it to be part of by now.
type wish struct {
	// rollout is the template that is rolled out; empty where none is known.
	rollout string
	// options of the rollout, as they were recorded when it was first seen.
	options infrav1.NodeUpgradeOption
	// os that the rollout brings.
	os infrav1.OSVersionManagement
}

// wishes asks each owner once.
type wishes struct {
	reconciler *Reconciler
	known      map[string]wish
}

func (w *wishes) of(ctx context.Context, machine *clusterv1.Machine) (wish, error) {
	key := ownerKey(machine)
	if known, asked := w.known[key]; asked || key == "" {
		return known, nil
	}
	wanted, err := w.reconciler.wanted(ctx, machine)
	if err != nil {
		return wish{}, err
	}
	w.known[key] = wanted
	return wanted, nil
}

func (r *Reconciler) wanted(ctx context.Context, machine *clusterv1.Machine) (wish, error) {
	want, found, err := r.Owners.WantsOS(ctx, machine)
	if err != nil {
		return wish{}, fmt.Errorf("reading what the owner of Machine %s wants: %w", machine.Name, err)
	}
	if !found {
		return wish{}, nil
	}
	wanted := wish{rollout: want.TemplateName, os: want.OSVersionManagement}
	template := &infrav1.ElementalMachineTemplate{}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: want.TemplateName}
	if err := r.Client.Get(ctx, key, template); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return wish{}, nil
		}
		return wish{}, fmt.Errorf("reading ElementalMachineTemplate %s: %w", key.Name, err)
	}
	if wanted.options, found, err = rollout.FromAnnotation(template); err != nil || found {
		return wanted, err
	}
	// As for the attempts: those of the Cluster where none were recorded.
	wanted.options, _, err = hooks.ClusterOptions(ctx, r.Client, machine.Namespace, machine.Spec.ClusterName)
	return wanted, err
}
