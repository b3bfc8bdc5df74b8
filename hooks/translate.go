// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// requested is the answer between the creation of an attempt and its first status.
const requested = "Upgrade requested"

// action is what follows from an observation besides an answer.
type action string

const (
	// nothing: the answer is final.
	nothing action = ""
	// finish: the Machine runs the desired OS.
	finish action = "finish"
	// begin: there is no attempt, and one may have to be created.
	begin action = "begin"
	// renew: the attempt has ended, and another has to follow it.
	renew action = "renew"
	// followOwner: the attempt is superseded, and the answer depends on what the owner wants now.
	followOwner action = "followOwner"
)

// decide compares the host with the desired OS, and then with the recorded attempts.
func (o *observation) decide() (action, answer) {
	switch name := o.wanted.unresolved(); {
	case name != "":
		return nothing, inProgress("Waiting for ManagedOSVersion " + name + " to be looked up: see the conditions of the ElementalMachine")
	case o.wanted.image() == "":
		return finish, answer{}
	case o.attempt != nil:
		return o.translate()
	case o.unfinished != "":
		return nothing, inProgress("Waiting for ElementalHostUpgrade " + o.unfinished + " of this Machine to end")
	case o.satisfied():
		return finish, answer{}
	}
	return begin, answer{}
}

// translate derives the answer from the attempt.
func (o *observation) translate() (action, answer) {
	if !o.attempt.DeletionTimestamp.IsZero() {
		return nothing, beingDeleted(o.attempt)
	}
	switch o.attempt.Status.Phase {
	case infrav1.UpgradeSucceeded:
		return o.translateSucceeded()
	case infrav1.UpgradeSuperseded:
		return followOwner, answer{}
	case infrav1.UpgradeFailed, infrav1.UpgradeAborted, infrav1.UpgradeRolledBack:
		if o.isMadeUp() {
			return renew, answer{}
		}
		if !mayBeCordoned(o.attempt) && o.satisfied() {
			return finish, answer{}
		}
		return nothing, answer{retryAfter: endedRetrySeconds, message: progressMessage(o.attempt)}
	case infrav1.UpgradeHostLost:
		return nothing, answer{retryAfter: endedRetrySeconds, message: progressMessage(o.attempt)}
	case infrav1.UpgradePending, infrav1.UpgradeProgressing:
	}
	return nothing, inProgress(progressMessage(o.attempt))
}

func (o *observation) translateSucceeded() (action, answer) {
	switch {
	case o.upgradedToWanted():
		return finish, answer{}
	case !hoststate.Reported(o.host): // it has been moved to this management cluster, with the attempt
		return nothing, inProgress("Waiting for the elemental-agent of ElementalHost " + o.host.Name + " to answer")
	}
	return renew, answer{}
}

// isMadeUp reports whether the attempt with the expected key is for another OS than the desired one. The name proves nothing: a forged
// attempt may have any name.
func (o *observation) isMadeUp() bool {
	return osversion.Hash(o.attempt.Spec.OSVersionManagement) != o.wanted.hash()
}

// upgradedToWanted reports whether the attempt with the expected key, which has succeeded, was for the desired OS, and the host still runs
// that.
func (o *observation) upgradedToWanted() bool {
	return !o.isMadeUp() && runs(o.host, o.wanted.image(), o.attempt.Status.Digest)
}

// superseded is done, so that Cluster API continues with what the owner wants now. If that is the same OS
// again, Cluster API would take the Machine for updated and not ask again, so the attempt is recreated instead.
func (h *Handlers) superseded(ctx context.Context, seen *observation) (answer, error) {
	want, found, err := owner.WantsOS(ctx, h.Owners.Live, seen.wanted.machine)
	if err != nil {
		return answer{}, err
	}
	if found && want.TemplateName == seen.wanted.template() && osversion.Hash(want.OSVersionManagement) == seen.wanted.hash() {
		return h.renew(ctx, seen.attempt)
	}
	return answer{}, nil
}

// renew deletes a finished attempt; the next call creates a new one with the same name.
func (h *Handlers) renew(ctx context.Context, attempt *infrav1.ElementalHostUpgrade) (answer, error) {
	precondition := client.Preconditions{UID: ptr.To(attempt.UID)}
	if err := h.Client.Delete(ctx, attempt, precondition); client.IgnoreNotFound(err) != nil {
		return answer{}, fmt.Errorf("deleting the former ElementalHostUpgrade %s: %w", attempt.Name, err)
	}
	return inProgress(requested), nil
}

// beingDeleted is the answer while an attempt is being deleted: another one follows, after its host has completed what it has begun.
func beingDeleted(attempt *infrav1.ElementalHostUpgrade) answer {
	if attempt.Status.Phase.IsEnd() {
		return inProgress(requested)
	}
	return answer{retryAfter: requestedRetrySeconds, message: progressMessage(attempt)}
}

// mayBeCordoned reports whether an ended attempt has left its node cordoned: by policy, or because the
// former OS failed its assessment too.
func mayBeCordoned(attempt *infrav1.ElementalHostUpgrade) bool {
	return attempt.Status.Phase == infrav1.UpgradeRolledBack &&
		(attempt.Spec.Options.WithDefaults().OnRollback == infrav1.RollbackKeepCordoned ||
			conditions.IsFalse(attempt, infrav1.FormerOSHealthyCondition))
}

// progressMessage is one line that changes with the step or what it waits for, and with nothing else.
func progressMessage(attempt *infrav1.ElementalHostUpgrade) string {
	where := attempt.Status.Position()
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
