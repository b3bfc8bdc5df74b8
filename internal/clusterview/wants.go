// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

type answer struct {
	want  owner.Want
	found bool
}

// WantsOS is owner.WantsOS. Each owner is asked once.
func (v *View) WantsOS(ctx context.Context, machine *clusterv1.Machine) (want owner.Want, found bool, err error) {
	controller := metav1.GetControllerOf(machine)
	if controller == nil {
		return owner.Want{}, false, nil
	}
	key := controller.Kind + "/" + controller.Name
	if known, asked := v.wants[key]; asked {
		return known.want, known.found, nil
	}
	want, found, err = owner.WantsOS(ctx, v.reader, machine)
	if err != nil {
		return owner.Want{}, false, err
	}
	if v.wants == nil {
		v.wants = map[string]answer{}
	}
	v.wants[key] = answer{want, found}
	return want, found, nil
}
