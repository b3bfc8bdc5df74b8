// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"errors"
	"fmt"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// openChain says what keeps the Machine, the ElementalMachine and the host that an attempt names from being one node of its
// Cluster; empty where they are. The checks, the drain and the slot are those of the Machine: a host of another one would
// reboot with all that runs on it. A link may close later, as in the middle of a move, so it is waited for.
func (r *Reconciler) openChain(ctx context.Context, o *observation) (string, error) {
	spec := o.upgrade.Spec
	if o.machine.Spec.ClusterName != spec.ClusterName {
		return fmt.Sprintf("Machine %s belongs to Cluster %s, and spec.clusterName is %s", o.machine.Name, o.machine.Spec.ClusterName, spec.ClusterName), nil
	}
	var err error
	o.elementalMachine, err = existing.Get(ctx, r.APIReader, &infrav1.ElementalMachine{}, o.upgrade.Namespace, spec.ElementalMachineName)
	if err != nil {
		return "", err
	}
	if o.elementalMachine == nil {
		return fmt.Sprintf("ElementalMachine %s does not exist", spec.ElementalMachineName), nil
	}
	err = (&association.Chain{Machine: o.machine, Elemental: o.elementalMachine, Host: o.host}).Check()
	if broken := (*association.Broken)(nil); errors.As(err, &broken) {
		return broken.Link, nil
	}
	return "", err
}
