// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"encoding/json"
	"fmt"

	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
)

// GeneratePatches sets the image of inplace.OSImageVariable in every ElementalMachineTemplate of a topology. It
// answers from the request alone, the same every time: Cluster API asks in each reconciliation, and rotates
// the templates when the answer changes.
func (h *Handlers) GeneratePatches(ctx context.Context, req *runtimehooksv1.GeneratePatchesRequest, resp *runtimehooksv1.GeneratePatchesResponse) {
	resp.SetStatus(runtimehooksv1.ResponseStatusFailure)
	for i := range req.Items {
		patch, err := patchTemplate(req.Variables, &req.Items[i])
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to patch a template of a ClusterClass")
			resp.SetMessage(err.Error())
			resp.Items = nil
			return
		}
		if patch != nil {
			resp.Items = append(resp.Items, *patch)
		}
	}
	resp.SetStatus(runtimehooksv1.ResponseStatusSuccess)
}

// patchTemplate returns nil for what is not an ElementalMachineTemplate, and where no image is asked for.
func patchTemplate(global []runtimehooksv1.Variable, item *runtimehooksv1.GeneratePatchesRequestItem) (*runtimehooksv1.GeneratePatchesResponseItem, error) {
	object, err := decodeDocument("a template", item.Object)
	if err != nil {
		return nil, err
	}
	if !isElemental(object, elementalMachineTemplateKind) {
		return nil, nil
	}
	image, err := imageVariable(global, item.Variables)
	if err != nil {
		return nil, fmt.Errorf("reading variables for ElementalMachineTemplate %s: %w", object.text("metadata", "name"), err)
	}
	if image == "" {
		return nil, nil
	}
	patch, err := json.Marshal(imagePatch(image))
	if err != nil {
		return nil, fmt.Errorf("encoding the patch: %w", err)
	}
	return &runtimehooksv1.GeneratePatchesResponseItem{UID: item.UID, PatchType: runtimehooksv1.JSONMergePatchType, Patch: patch}, nil
}

// imageVariable: the variables of a template, which are those of its control plane or MachineDeployment,
// override the global ones.
func imageVariable(global, specific []runtimehooksv1.Variable) (string, error) {
	image := ""
	for _, variables := range [][]runtimehooksv1.Variable{global, specific} {
		for i := range variables {
			if variables[i].Name != inplace.OSImageVariable {
				continue
			}
			if err := json.Unmarshal(variables[i].Value.Raw, &image); err != nil {
				return "", fmt.Errorf("%s has to be a string: %w", inplace.OSImageVariable, err)
			}
		}
	}
	return image, nil
}

// imagePatch keeps the template's other settings of the OS, except a ManagedOSVersion, which would take precedence over
// the image.
func imagePatch(image string) map[string]any {
	within := func(key string, value any) map[string]any { return map[string]any{key: value} }
	osVersion := within(infrav1.OSVersionKey, map[string]any{"imageURI": image, "imageUri": nil, "managedOSVersionName": nil, "resolvedFrom": nil})
	return within("spec", within("template", within("spec", within(coveredField, osVersion))))
}
