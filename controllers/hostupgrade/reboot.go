// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"fmt"
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// reboot waits for the host to write the image and to come back from a new boot.
func (r *Reconciler) reboot(ctx context.Context, o *observation) (sequence.Result, error) {
	if o.returned() && !o.lost() {
		return sequence.Done(), nil
	}
	if o.host.Spec.Upgrade == nil || o.underway() && !o.labelled() {
		// The host began just before the attempt, or its trigger, was taken back. It is asked again, so that its outcome is
		// recorded; it never carries out an attempt twice.
		if err := r.ask(ctx, o); err != nil {
			return sequence.Result{}, err
		}
	}
	if o.lost() {
		return sequence.End(string(infrav1.UpgradeHostLost), "%s: look at its console; its slot is kept until it returns, "+
			"its Machine is deleted, or spec.release is set%s", o.loss(), o.stoppedVMs()), nil
	}
	left := max(o.options.Timeouts.Reboot()-o.now.Sub(o.enteredAt(stepReboot)), o.mayBeUnheard())
	return sequence.Wait(min(left, pollHost), "%s%s", rebootMessage(o, o.hostReport().Phase), r.withSelf(ctx, o)), nil
}

// loss says what a lost host has failed to do.
func (o *observation) loss() string {
	timeouts := o.options.Timeouts
	if o.returned() {
		return fmt.Sprintf("ElementalHost %s came back, and has not assessed its boot within %s", o.host.Name, timeouts.Assessment()+timeouts.Reboot())
	}
	return fmt.Sprintf("ElementalHost %s has not come back within %s of being triggered", o.host.Name, timeouts.Reboot())
}

func rebootMessage(o *observation, phase infrav1.HostUpgradePhase) string {
	switch phase {
	case infrav1.HostUpgradeApplying:
		return "ElementalHost " + o.host.Name + " is writing " + o.upgrade.Spec.ImageURI
	case infrav1.HostUpgradeRebooting:
		return "ElementalHost " + o.host.Name + " is rebooting"
	default:
		return because("waiting for the elemental-agent of ElementalHost "+o.host.Name+" to start", o.hostReport().Message)
	}
}

// enteredAt is when the step was entered; now, if this is the first time.
func (o *observation) enteredAt(step string) time.Time {
	for i := range o.upgrade.Status.Steps {
		if o.upgrade.Status.Steps[i].Name == step {
			return o.upgrade.Status.Steps[i].StartedAt.Time
		}
	}
	return o.now
}

// overdue is the part of a message that says that a step takes longer than it should.
func (o *observation) overdue(step string, timeout time.Duration) string {
	if o.now.Sub(o.enteredAt(step)) <= timeout {
		return ""
	}
	return " (for longer than " + timeout.String() + ")"
}
