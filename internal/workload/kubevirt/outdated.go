// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"
	"slices"

	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// pageSize is how many virtual machine instances are read at once.
const pageSize = 500

// Outdated says which virtual machines KubeVirt has yet to bring to current launchers, and which stay on those of the former version as it does not, or
// cannot, update them: they come to one when a person restarts or migrates them. Both are empty if there are none. They are known by the label that
// virt-controller gives them: status.outdatedVirtualMachineInstanceWorkloads also counts those with a pending hot-plug.
// Source: KubeVirt 1.7, pkg/virt-controller/watch/workload-updater.
func (u Upgrade) Outdated(ctx context.Context) (waits, stay string, err error) {
	k, behind, err := u.behind(ctx)
	if behind == withoutKubeVirt {
		return "", "", nil
	}
	if err != nil || behind != "" { // until it is well KubeVirt updates none
		return behind, "", err
	}
	updated, left, err := u.divided(ctx, k.Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods)
	slices.Sort(updated)
	slices.Sort(left)
	if len(updated) > 0 {
		waits = "KubeVirt brings virtual machines to launchers of its version: " + shorten(updated, ", ") +
			". Of one that stays see the VirtualMachineInstanceMigrations, and restart it, or take the method out of spec.workloadUpdateStrategy"
	}
	if len(left) > 0 {
		stay = "KubeVirt does not bring these virtual machines to launchers of its version, until they are restarted: " + shorten(left, ", ")
	}
	return waits, stay, err
}

// divided are the names of the virtual machine instances with former launchers that KubeVirt updates by the methods, and of the others.
func (u Upgrade) divided(ctx context.Context, methods []kubevirtv1.WorkloadUpdateMethod) (updated, left []string, err error) {
	for page, isLast := "", false; !isLast; {
		found := &kubevirtv1.VirtualMachineInstanceList{}
		err := u.Live.List(ctx, found, client.HasLabels{kubevirtv1.OutdatedLauncherImageLabel}, client.Limit(pageSize), client.Continue(page))
		if err != nil && !existing.IsAbsent(err) {
			return nil, nil, fmt.Errorf("listing virtual machine instances with former launchers: %w", err)
		}
		ofPage, leftOfPage := divide(found.Items, methods)
		updated, left = append(updated, ofPage...), append(left, leftOfPage...)
		page, isLast = found.Continue, found.Continue == ""
	}
	return updated, left, nil
}

func divide(found []kubevirtv1.VirtualMachineInstance, methods []kubevirtv1.WorkloadUpdateMethod) (updated, left []string) {
	for i := range found {
		vmi := &found[i]
		switch name := vmi.Namespace + "/" + vmi.Name; {
		case vmi.IsFinal() || vmi.DeletionTimestamp != nil:
		case isUpdated(vmi, methods):
			updated = append(updated, name)
		default:
			left = append(left, name)
		}
	}
	return updated, left
}

// isUpdated reports whether KubeVirt updates a virtual machine instance by one of the methods.
func isUpdated(vmi *kubevirtv1.VirtualMachineInstance, methods []kubevirtv1.WorkloadUpdateMethod) bool {
	return slices.Contains(methods, kubevirtv1.WorkloadUpdateMethodEvict) ||
		slices.Contains(methods, kubevirtv1.WorkloadUpdateMethodLiveMigrate) && vmi.IsMigratable()
}
