// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// requested is the answer from the request of an attempt until the attempt says something itself.
const requested = "Upgrade requested"

// translate answers with the state of the attempt.
func (h *Handlers) translate(ctx context.Context, wanted *wantedOS, seen *observation) (answer, error) {
	attempt := seen.attempt
	if !attempt.DeletionTimestamp.IsZero() {
		return leaving(attempt), nil
	}
	switch attempt.Status.Phase {
	case infrav1.UpgradeSucceeded:
		if runs(seen.host, wanted.image(), attempt.Status.Digest) {
			return answer{}, nil
		}
		if !hoststate.Reported(seen.host) { // it has been moved to this management cluster, with the attempt
			return inProgress("Waiting for the elemental-agent of ElementalHost " + seen.host.Name + " to answer"), nil
		}
		return h.renew(ctx, attempt)
	case infrav1.UpgradeSuperseded:
		return h.superseded(ctx, wanted, attempt)
	case infrav1.UpgradeFailed, infrav1.UpgradeAborted, infrav1.UpgradeRolledBack:
		if !mayBeCordoned(attempt) && seen.satisfies(wanted) {
			return answer{}, nil
		}
		return answer{retryAfter: endedRetrySeconds, message: progressMessage(attempt)}, nil
	case infrav1.UpgradeHostLost:
		return answer{retryAfter: endedRetrySeconds, message: progressMessage(attempt)}, nil
	case infrav1.UpgradePending, infrav1.UpgradeProgressing:
	}
	return inProgress(progressMessage(attempt)), nil
}

// superseded is done, so that Cluster API starts with what the owner wants now. If that is this very OS
// again, done would be a lie that nobody asks about any more: the attempt is made anew.
func (h *Handlers) superseded(ctx context.Context, wanted *wantedOS, attempt *infrav1.ElementalHostUpgrade) (answer, error) {
	machine := &clusterv1.Machine{}
	key := client.ObjectKeyFromObject(wanted.machine)
	if err := h.Client.Get(ctx, key, machine); err != nil {
		return answer{}, fmt.Errorf("reading Machine %s: %w", key.Name, err)
	}
	want, found, err := h.Owners.WantsOSNow(ctx, machine)
	if err != nil {
		return answer{}, err
	}
	if found && want.TemplateName == wanted.template() && osversion.Hash(want.OSVersionManagement) == wanted.hash() {
		return h.renew(ctx, attempt)
	}
	return answer{}, nil
}

// renew forgets a finished attempt; the next call requests a new one under the same name.
func (h *Handlers) renew(ctx context.Context, attempt *infrav1.ElementalHostUpgrade) (answer, error) {
	precondition := client.Preconditions{UID: ptr.To(attempt.UID)}
	if err := h.Client.Delete(ctx, attempt, precondition); client.IgnoreNotFound(err) != nil {
		return answer{}, fmt.Errorf("deleting the former ElementalHostUpgrade %s: %w", attempt.Name, err)
	}
	return inProgress(requested), nil
}

// leaving is the answer while an attempt is being deleted: another one follows it, but what its host has
// begun is brought to its end first.
func leaving(attempt *infrav1.ElementalHostUpgrade) answer {
	if attempt.Status.Phase.IsEnd() {
		return inProgress(requested)
	}
	return answer{retryAfter: requestedRetrySeconds, message: progressMessage(attempt)}
}

// mayBeCordoned says whether an ended attempt has left its node cordoned: by policy, or because the
// former OS was not good either.
func mayBeCordoned(attempt *infrav1.ElementalHostUpgrade) bool {
	return attempt.Status.Phase == infrav1.UpgradeRolledBack &&
		(attempt.Spec.Options.WithDefaults().OnRollback == infrav1.RollbackKeepCordoned ||
			conditions.IsFalse(attempt, infrav1.FormerOSHealthyCondition))
}

// progressMessage is one line that changes with the step or what it waits for, and with nothing else.
func progressMessage(attempt *infrav1.ElementalHostUpgrade) string {
	where := attempt.Status.Step
	switch attempt.Status.Phase {
	case infrav1.UpgradeRolledBack, infrav1.UpgradeFailed, infrav1.UpgradeAborted, infrav1.UpgradeHostLost:
		where = string(attempt.Status.Phase)
	case infrav1.UpgradePending, infrav1.UpgradeProgressing, infrav1.UpgradeSucceeded, infrav1.UpgradeSuperseded:
	}
	switch {
	case where == "" && attempt.Status.Message == "":
		return requested
	case where == "":
		return attempt.Status.Message
	case attempt.Status.Message == "":
		return where
	}
	return where + ": " + attempt.Status.Message
}
