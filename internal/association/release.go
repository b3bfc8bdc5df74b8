// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// Claimed returns the hosts that the machine has to release, read live: the one it refers to, and any other whose lock has its UID. Released
// hosts are left out, but not those being deleted, which wait for their release. A host that registered again under the name is released too
// if it is, or may be, bootstrapped: it serves no machine, and cannot be claimed before it is reset.
func (c *Claimer) Claimed(ctx context.Context, machine *infrav1.ElementalMachine) ([]*infrav1.ElementalHost, error) {
	names, err := c.claimedNames(ctx, machine)
	if err != nil {
		return nil, err
	}
	var hosts []*infrav1.ElementalHost
	for _, name := range names {
		host, err := c.read(ctx, machine.Namespace, name)
		if err != nil {
			return nil, err
		}
		if host != nil && !isAsked(host) && (locked(host, machine) || isLeftBehind(host, machine)) {
			hosts = append(hosts, host)
		}
	}
	return hosts, nil
}

func (c *Claimer) claimedNames(ctx context.Context, machine *infrav1.ElementalMachine) ([]string, error) {
	locked := &infrav1.ElementalHostList{}
	if err := c.Client.List(ctx, locked,
		client.InNamespace(machine.Namespace),
		client.MatchingFields{HostMachineIndex: machine.Name},
	); err != nil {
		return nil, fmt.Errorf("listing ElementalHosts of ElementalMachine %s: %w", machine.Name, err)
	}
	recorded := Recorded(machine)
	var names []string
	if recorded != "" {
		names = append(names, recorded)
	}
	for i := range locked.Items {
		if locked.Items[i].Name != recorded {
			names = append(names, locked.Items[i].Name)
		}
	}
	return names, nil
}

// isAsked reports whether a host was told to reset itself, or has done so.
func isAsked(host *infrav1.ElementalHost) bool {
	return hoststate.HasLabel(host, infrav1.NeedsResetLabel) || hoststate.HasLabel(host, infrav1.ResetLabel)
}

// isLeftBehind reports whether a host has registered in place of the machine's host and still has to be reset. Before its first report,
// which may come after the machine is gone, it may be bootstrapped.
func isLeftBehind(host *infrav1.ElementalHost, machine *infrav1.ElementalMachine) bool {
	if hoststate.Bootstrapped(host) {
		return Recorded(machine) == host.Name && host.Spec.MachineRef == nil
	}
	return Replaced(host, machine) && !hoststate.Reported(host)
}

// Release requests the reset of a host. The lock remains, so that no other machine claims the host before that; the reference to the
// bootstrap data is removed, so that it is not returned again.
func (c *Claimer) Release(ctx context.Context, host *infrav1.ElementalHost) error {
	before := host.DeepCopy()
	hoststate.SetLabel(host, infrav1.NeedsResetLabel, true)
	host.Spec.BootstrapSecret = nil
	err := c.Client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("releasing ElementalHost %s: %w", host.Name, err)
	}
	return nil
}
