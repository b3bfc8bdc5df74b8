// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
)

// longestImage is the maximum length of an image reference, with room for the scheme.
const longestImage = 1024

// DiscoverVariables returns the variables that GeneratePatches reads, with their schemas.
func (h *Handlers) DiscoverVariables(_ context.Context, _ *runtimehooksv1.DiscoverVariablesRequest, resp *runtimehooksv1.DiscoverVariablesResponse) {
	resp.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	resp.Variables = []clusterv1.ClusterClassVariable{{
		Name:     inplace.OSImageVariable,
		Required: ptr.To(false),
		Schema: clusterv1.VariableSchema{OpenAPIV3Schema: clusterv1.JSONSchemaProps{
			Type:        "string",
			Description: "OS image of the machines, as oci://registry/repository:tag, with or without the scheme, by tag or digest. Changing it upgrades them in place.",
			MinLength:   ptr.To[int64](1),
			MaxLength:   ptr.To[int64](longestImage),
			Pattern:     `^\S+$`,
		}},
	}}
}
