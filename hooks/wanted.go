// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"encoding/json"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// wantedOS is what an UpdateMachine request asks for. The zero value asks for nothing.
type wantedOS struct {
	machine   *clusterv1.Machine
	elemental *infrav1.ElementalMachine
	version   infrav1.OSVersion
}

// readWanted reads a request. A Machine of another provider asks for nothing: this extension may be the
// only one of its namespace, and is then asked about Machines whose content did not change.
func readWanted(req *runtimehooksv1.UpdateMachineRequest) (*wantedOS, error) {
	object, err := decodeDocument("desired.infrastructureMachine", req.Desired.InfrastructureMachine)
	if err != nil {
		return nil, err
	}
	if !isElemental(object, elementalMachineKind) {
		return &wantedOS{}, nil
	}
	elemental := &infrav1.ElementalMachine{}
	if err := json.Unmarshal(req.Desired.InfrastructureMachine.Raw, elemental); err != nil {
		return nil, fmt.Errorf("reading desired.infrastructureMachine: %w", err)
	}
	version, err := osversion.Decode(elemental.Spec.OSVersionManagement)
	if err != nil {
		return nil, fmt.Errorf("reading ElementalMachine %s: %w", elemental.Name, err)
	}
	return &wantedOS{machine: &req.Desired.Machine, elemental: elemental, version: version}, nil
}

// image that is wanted; empty where the OS is not managed.
func (w *wantedOS) image() string { return w.version.ImageURI }

// unresolved is the ManagedOSVersion that stands for the image and has not been looked up yet.
func (w *wantedOS) unresolved() string {
	if w.elemental == nil {
		return ""
	}
	return osversion.Unresolved(w.elemental.Spec.OSVersionManagement)
}

// hash of the wanted OS.
func (w *wantedOS) hash() string { return osversion.Hash(w.elemental.Spec.OSVersionManagement) }

// template that the ElementalMachine was last given the content of.
func (w *wantedOS) template() string {
	return w.elemental.Annotations[clusterv1.TemplateClonedFromNameAnnotation]
}

// upgradeName is the name of the attempt.
func (w *wantedOS) upgradeName() string {
	return rollout.UpgradeName(w.machine.Name, w.template(), w.hash())
}

// isImageOnly says whether the booted image is all there is to see of the wanted OS. The recovery
// system, and what other OS plugins manage, cannot be seen on a host.
func (w *wantedOS) isImageOnly() bool {
	return len(w.elemental.Spec.OSVersionManagement) == 1 && !w.version.UpgradeRecovery
}
