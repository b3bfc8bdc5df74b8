// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"

	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Seconds after which Cluster API asks again.
const (
	retrySeconds = 5
	// requestedRetrySeconds is for an attempt that was just made: it has something to say in a moment.
	requestedRetrySeconds = 1
	// endedRetrySeconds is for attempts that wait for a person or for another image.
	endedRetrySeconds = 10
)

// unreadable is the answer while the management cluster's API does not answer us.
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

// UpdateMachine makes sure that what Cluster API wants is recorded, and says how far it is. It fails for
// requests that make no sense only: Cluster API shows nothing of a failure and retries it ever more
// rarely.
func (h *Handlers) UpdateMachine(ctx context.Context, req *runtimehooksv1.UpdateMachineRequest, resp *runtimehooksv1.UpdateMachineResponse) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	log := ctrl.LoggerFrom(ctx).WithValues("Machine", req.Desired.Machine.Name, "namespace", req.Desired.Machine.Namespace)
	ctx = ctrl.LoggerInto(ctx, log)
	wanted, err := readWanted(req)
	if err != nil {
		log.Error(err, "Failed to read an UpdateMachine request")
		resp.SetStatus(runtimehooksv1.ResponseStatusFailure)
		resp.SetMessage(err.Error())
		return
	}
	given, err := h.progress(ctx, wanted)
	if err != nil {
		log.Error(err, "Failed to answer UpdateMachine")
		given = inProgress(unreadable)
	}
	resp.SetStatus(runtimehooksv1.ResponseStatusSuccess)
	resp.SetRetryAfterSeconds(given.retryAfter)
	resp.SetMessage(given.message)
}

// progress compares the host with what is wanted, and then what was recorded.
func (h *Handlers) progress(ctx context.Context, wanted *wantedOS) (answer, error) {
	if name := wanted.unresolved(); name != "" {
		return inProgress("Waiting for ManagedOSVersion " + name + " to be looked up: see the conditions of the ElementalMachine"), nil
	}
	if wanted.image() == "" {
		return answer{}, nil
	}
	seen, given, err := h.observe(ctx, wanted)
	if err != nil || seen == nil {
		return given, err
	}
	switch {
	case seen.attempt != nil:
		return h.translate(ctx, wanted, seen)
	case seen.unfinished != "":
		return inProgress("Waiting for ElementalHostUpgrade " + seen.unfinished + " of this Machine to end"), nil
	case seen.satisfies(wanted):
		return answer{}, nil
	}
	return h.request(ctx, wanted, seen)
}
