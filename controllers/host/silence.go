// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
)

// silence is how long a host may take to answer what it is asked for. An agent that runs answers within moments, or a minute after the Elemental API was away.
const silence = 2 * time.Minute

// requestTo is a host that is asked for something.
type requestTo struct{ host types.UID }

// reportSilence says that a host does not answer, and returns when to look again. What is said of an attempt stays until that is answered or withdrawn, also
// after a restart of the manager.
func (r *Reconciler) reportSilence(host *infrav1.ElementalHost) (after time.Duration) {
	attempt := unanswered(host)
	if attempt == "" {
		conditions.Delete(host, infrav1.AgentNotRespondingCondition)
		return 0
	}
	message := "The host has not answered the request for upgrade " + attempt + " for 2 minutes: is it on and connected, and does its elemental-agent run?"
	if host.Status.Message != "" {
		message += " The last that it has said: " + host.Status.Message
	}
	now := r.Clock.Now()
	since := r.observed.Look(requestTo{host.UID}, attempt, now).Since
	if left := silence - now.Sub(since); left > 0 && conditions.GetMessage(host, infrav1.AgentNotRespondingCondition) != message {
		conditions.Delete(host, infrav1.AgentNotRespondingCondition)
		return left
	}
	condition.TrueBecause(host, infrav1.AgentNotRespondingCondition, infrav1.RequestNotAnsweredReason, "%s", message)
	return 0
}

// unanswered is the attempt that a host is asked for and has not said anything of; empty if there is none, or the host is in the middle of another upgrade.
func unanswered(host *infrav1.ElementalHost) string {
	asked := host.Spec.Upgrade
	if asked == nil || host.Status.Agent.Outdated || !hoststate.Interruptible(host) || host.Status.Upgrade != nil && host.Status.Upgrade.Attempt == asked.Attempt {
		return ""
	}
	return asked.Attempt
}
