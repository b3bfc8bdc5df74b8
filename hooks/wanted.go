// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// wantedOS is the OS that a Machine should run according to its ElementalMachine, read from one reader.
type wantedOS struct {
	machine   *clusterv1.Machine
	elemental *infrav1.ElementalMachine
	version   infrav1.OSVersion
}

func wantedBy(chain *association.Chain) (*wantedOS, error) {
	version, err := osversion.Decode(chain.Elemental.Spec.OSVersionManagement)
	if err != nil {
		return nil, fmt.Errorf("reading ElementalMachine %s: %w", chain.Elemental.Name, err)
	}
	return &wantedOS{machine: chain.Machine, elemental: chain.Elemental, version: version}, nil
}

// image of the desired OS; empty if the OS is not managed.
func (w *wantedOS) image() string { return w.version.ImageURI }

// unresolved is the ManagedOSVersion that stands for the image and has not been looked up yet.
func (w *wantedOS) unresolved() string {
	return osversion.Unresolved(w.elemental.Spec.OSVersionManagement)
}

// hash of the wanted OS.
func (w *wantedOS) hash() string { return osversion.Hash(w.elemental.Spec.OSVersionManagement) }

// template that the ElementalMachine was last given the content of.
func (w *wantedOS) template() string {
	return w.elemental.Annotations[clusterv1.TemplateClonedFromNameAnnotation]
}
