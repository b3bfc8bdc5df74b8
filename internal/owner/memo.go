// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Memo asks each owner once what it wants, for a reconcile that looks at all Machines of a cluster. It is for one reconcile
// and one goroutine: what it has found is never forgotten.
type Memo struct {
	// Owners are asked.
	Owners *Owners

	known map[string]answer
}

type answer struct {
	want  Want
	found bool
}

// WantsOS is Owners.WantsOS.
func (m *Memo) WantsOS(ctx context.Context, machine *clusterv1.Machine) (Want, bool, error) {
	controller := metav1.GetControllerOf(machine)
	if controller == nil {
		return Want{}, false, nil
	}
	key := controller.Kind + "/" + controller.Name
	if known, asked := m.known[key]; asked {
		return known.want, known.found, nil
	}
	want, found, err := m.Owners.WantsOS(ctx, machine)
	if err != nil {
		return Want{}, false, err
	}
	if m.known == nil {
		m.known = map[string]answer{}
	}
	m.known[key] = answer{want, found}
	return want, found, nil
}
