// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// Seconds after which Cluster API asks again.
const (
	retrySeconds = 5
	// requestedRetrySeconds is for an attempt that was just created and will have a status soon.
	requestedRetrySeconds = 1
	// endedRetrySeconds is for attempts that wait for an operator or for another image.
	endedRetrySeconds = 10
)

// unreadable is the answer while the management cluster's API is unavailable.
const unreadable = "The state of the upgrade cannot be read at the moment"

// answer to UpdateMachine. The zero value is done.
type answer struct {
	retryAfter int32
	message    string
}

func inProgress(message string) answer {
	if message == requested {
		return answer{retryAfter: requestedRetrySeconds, message: message}
	}
	return answer{retryAfter: retrySeconds, message: message}
}

// UpdateMachine ensures that the requested update is recorded as an attempt, and reports its progress. It fails only for
// requests that contradict stored objects, because Cluster API does not show the text of a failure and retries it with
// a growing backoff.
func (h *Handlers) UpdateMachine(ctx context.Context, req *runtimehooksv1.UpdateMachineRequest, resp *runtimehooksv1.UpdateMachineResponse) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	log := ctrl.LoggerFrom(ctx).WithValues("Machine", req.Desired.Machine.Name, "namespace", req.Desired.Machine.Namespace)
	given, err := h.answer(ctrl.LoggerInto(ctx, log), req)
	var (
		refused *contradiction
		open    *association.Broken
	)
	switch {
	case errors.As(err, &refused):
		log.Error(err, "Refused an UpdateMachine request")
		resp.SetStatus(runtimehooksv1.ResponseStatusFailure)
		resp.SetMessage(refused.Error())
		return
	case errors.As(err, &open):
		given = inProgress(open.Error())
	case err != nil:
		log.Error(err, "Failed to answer UpdateMachine")
		given = inProgress(unreadable)
	}
	resp.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	resp.SetRetryAfterSeconds(given.retryAfter)
	resp.SetMessage(given.message)
}

// answer reports the progress of a Machine from the cache. Before anything is done, or reported done, it is decided again from
// live reads.
func (h *Handlers) answer(ctx context.Context, req *runtimehooksv1.UpdateMachineRequest) (answer, error) {
	asked, err := readQuestion(req)
	if err != nil {
		return answer{}, err
	}
	if !asked.isOurs {
		return h.ofOtherProvider(ctx, asked)
	}
	if unmanaged, err := h.unmanaged(ctx, asked); err != nil || unmanaged {
		return answer{}, err
	}
	seen, given, err := h.observeCached(ctx, asked.machine)
	if err != nil || seen == nil {
		return given, err
	}
	if next, told := seen.decide(); next == nothing {
		return told, nil
	}
	if seen, given, err = h.observeLive(ctx, asked); err != nil || seen == nil {
		return given, err
	}
	return h.act(ctx, seen)
}

// act carries out the decision for a Machine that was observed live.
func (h *Handlers) act(ctx context.Context, seen *observation) (answer, error) {
	switch next, told := seen.decide(); next {
	case renew:
		return h.renew(ctx, seen.attempt)
	case followOwner:
		return h.superseded(ctx, seen)
	case begin:
		return h.begin(ctx, seen)
	default: // nothing, finish
		return told, nil
	}
}

// ofOtherProvider answers for a Machine of another provider: there is nothing to do. If this extension is the only one of its
// namespace, Cluster API calls it for those Machines too, when their content did not change.
func (h *Handlers) ofOtherProvider(ctx context.Context, asked *question) (answer, error) {
	machine, err := existing.Get(ctx, h.Live, &clusterv1.Machine{}, asked.machine.Namespace, asked.machine.Name)
	if err != nil || machine == nil {
		return inProgress(fmt.Sprintf("Machine %s does not exist", asked.machine.Name)), err
	}
	if ref := machine.Spec.InfrastructureRef; association.NamesElementalMachine(ref) {
		return answer{}, contradicts("desired.infrastructureMachine is not an ElementalMachine, and spec.infrastructureRef of Machine %s names ElementalMachine %s",
			asked.machine, ref.Name)
	}
	return answer{}, nil
}
