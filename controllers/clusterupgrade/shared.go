// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"context"
	"fmt"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
)

// sharedWithOthers says which template Machines of another Cluster were made from, too: its change would reach them at once, without an order.
func (r *Reconciler) sharedWithOthers(ctx context.Context, o *observation, templates []*infrav1.ElementalMachineTemplate) (string, error) {
	for _, template := range templates {
		machines, err := clusterview.MadeFrom(ctx, r.Client, template.Namespace, template.Name)
		if err != nil {
			return "", err
		}
		for i := range machines {
			if other := clusterview.ClusterOf(&machines[i]).Name; other != "" && other != o.cluster.Name {
				return fmt.Sprintf("ElementalMachineTemplate %s is also that of Machines of Cluster %s, which would be upgraded at once, in no order: "+
					"give each Cluster a template of its own", template.Name, other), nil
			}
		}
	}
	return "", nil
}
