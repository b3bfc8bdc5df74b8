// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"strings"

	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// undecided is the answer if a request cannot be evaluated.
const undecided = "The change could not be evaluated, and no Machine is replaced. See the log of the Elemental manager"

// CanUpdateMachineSet answers which part of a MachineDeployment's change can be made in place.
func (h *Handlers) CanUpdateMachineSet(ctx context.Context, req *runtimehooksv1.CanUpdateMachineSetRequest, resp *runtimehooksv1.CanUpdateMachineSetResponse) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c, err := changeOfMachineSet(req)
	if err == nil {
		c.compareBootstrap()
	}
	if h.permits(ctx, c, err, resp) {
		resp.InfrastructureMachineTemplatePatch = c.patch
	}
}

// CanUpdateMachine answers which part of a control plane Machine's change can be made in place.
func (h *Handlers) CanUpdateMachine(ctx context.Context, req *runtimehooksv1.CanUpdateMachineRequest, resp *runtimehooksv1.CanUpdateMachineResponse) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c, err := changeOfMachine(req)
	if err == nil {
		err = h.coverInit(ctx, c)
	}
	if err == nil {
		c.compareBootstrap()
	}
	if h.permits(ctx, c, err, resp) {
		resp.InfrastructureMachinePatch, resp.BootstrapConfigPatch = c.patch, c.bootstrapPatch
	}
}

// permits reports whether Cluster API may continue, which means replacing the Machines if the patch does
// not cover all changes. It sets status and message.
func (h *Handlers) permits(ctx context.Context, c *change, err error, resp runtimehooksv1.ResponseObject) bool {
	log := ctrl.LoggerFrom(ctx)
	resp.SetStatus(runtimehooksv1.ResponseStatusFailure)
	if err != nil {
		log.Error(err, "Failed to read a CanUpdate request")
		resp.SetMessage(undecided)
		return false
	}
	if len(c.uncovered) == 0 {
		resp.SetStatus(runtimehooksv1.ResponseStatusSuccess)
		return true
	}
	policy, from, err := h.replacementPolicy(ctx, c)
	if err != nil {
		log.Error(err, "Failed to read the replacement policy")
		resp.SetMessage(undecided)
		return false
	}
	changed := strings.Join(c.uncovered, ", ")
	if policy != infrav1.ReplacementAllow {
		message := fmt.Sprintf("Only %s can be changed in place, and this changes %s as well. "+
			"Revert these fields or, to have Machines replaced and their hosts reset, set replacement: Allow in %s", coveredField, changed, from)
		resp.SetMessage(message)
		h.tellOwners(ctx, c, message)
		return false
	}
	log.Info("Machines are replaced by policy", "fields", changed, "policy", from)
	resp.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	resp.SetMessage(fmt.Sprintf("%s cannot be changed in place; replacement is allowed by %s", changed, from))
	return true
}
