// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

const (
	lookAgain = 200 * time.Millisecond
	// lookAtEach is how much the poll interval of many objects grows with each of them.
	lookAtEach = 5 * time.Millisecond
)

// Await waits for a condition, for process.Patience, and fails with its last error.
func Await(ctx context.Context, what string, condition func(ctx context.Context) (missing string, err error)) error {
	return awaitMany(ctx, what, 1, process.Patience, condition)
}

// awaitMany waits for a condition on many objects, all of which are listed each time.
func awaitMany(ctx context.Context, what string, many int, timeout time.Duration, condition func(ctx context.Context) (missing string, err error)) error {
	missing := ""
	err := wait.PollUntilContextTimeout(ctx, max(lookAgain, time.Duration(many)*lookAtEach), timeout, true, func(ctx context.Context) (bool, error) {
		var err error
		missing, err = condition(ctx)
		return missing == "", err
	})
	if err != nil {
		return fmt.Errorf("waiting for %s (%s): %w", what, missing, err)
	}
	return nil
}

// AwaitHosts waits until all hosts have registered and are available.
func (c *Cluster) AwaitHosts(ctx context.Context) error {
	want := c.Options.Workers + c.Options.Spare + c.Options.ControlPlane
	return awaitMany(ctx, "hosts to register", want, c.Options.Patience, func(ctx context.Context) (string, error) {
		hosts, err := c.Hosts(ctx)
		installed := 0
		for i := range hosts {
			if hosts[i].Labels[infrav1.InstalledLabel] == "true" {
				installed++
			}
		}
		return unless(installed == want, "%d of %d", installed, want), err
	})
}

// AwaitWorkers waits until every Machine is Running and its Node is Ready, control plane Machines
// included.
func (c *Cluster) AwaitWorkers(ctx context.Context) error {
	want := c.Options.Workers + c.Options.ControlPlane
	return awaitMany(ctx, "Machines to run", want, c.Options.Patience, func(ctx context.Context) (string, error) {
		machines, err := c.Machines(ctx)
		running := 0
		for i := range machines {
			if machines[i].Status.Phase == "Running" && machines[i].Status.NodeRef.IsDefined() {
				running++
			}
		}
		return unless(running == want, "%d of %d", running, want), err
	})
}

// AwaitWeb waits until all Pods of the Deployment web are Ready.
func (c *Cluster) AwaitWeb(ctx context.Context) error {
	return Await(ctx, "Deployment web to be Ready", func(ctx context.Context) (string, error) {
		ready, err := c.webReady(ctx)
		return unless(ready, "not yet"), err
	})
}

// AwaitImage waits until every worker's host runs the image and no worker Machine is being updated.
func (c *Cluster) AwaitImage(ctx context.Context, os image.Image) error {
	return Await(ctx, "all workers to run "+os.Ref, func(ctx context.Context) (string, error) {
		return c.MissingImage(ctx, os)
	})
}

// AwaitControlPlaneImage does the same for the control plane.
func (c *Cluster) AwaitControlPlaneImage(ctx context.Context, os image.Image) error {
	return Await(ctx, "the control plane to run "+os.Ref, func(ctx context.Context) (string, error) {
		return c.missingImage(ctx, os, true)
	})
}

// MissingImage says what keeps AwaitImage waiting; empty if nothing does.
func (c *Cluster) MissingImage(ctx context.Context, os image.Image) (string, error) {
	return c.missingImage(ctx, os, false)
}

func (c *Cluster) missingImage(ctx context.Context, os image.Image, controlPlane bool) (string, error) {
	hosts, err := c.Hosts(ctx)
	if err != nil {
		return "", err
	}
	for i := range hosts {
		if c.isOfControlPlane(&hosts[i]) == controlPlane && hosts[i].Spec.MachineRef != nil && hosts[i].Status.OS.Digest != os.PlatformDigest {
			return "ElementalHost " + hosts[i].Name + " runs " + hosts[i].Status.OS.ImageURI, nil
		}
	}
	machines, err := c.Machines(ctx)
	if err != nil {
		return "", err
	}
	for i := range machines {
		if util.IsControlPlaneMachine(&machines[i]) == controlPlane && (machines[i].Status.Phase != "Running" || isUpdating(&machines[i])) {
			return "Machine " + machines[i].Name + " is " + machines[i].Status.Phase, nil
		}
	}
	return c.inWork(ctx, slices.DeleteFunc(machines, func(machine clusterv1.Machine) bool { return util.IsControlPlaneMachine(&machine) != controlPlane }))
}

// inWork describes an attempt for a patched template, on one of some Machines, that has not ended. Of an update by Cluster API the Machine says it.
func (c *Cluster) inWork(ctx context.Context, machines []clusterv1.Machine) (string, error) {
	return c.unfinished(ctx, machines, func(of *infrav1.ElementalHostUpgrade) bool { return of.Spec.Driver == infrav1.DriverDirect })
}

// unfinished describes one of the attempts that are chosen, on one of some Machines, that has not ended; empty if there is none.
func (c *Cluster) unfinished(ctx context.Context, machines []clusterv1.Machine, isChosen func(*infrav1.ElementalHostUpgrade) bool) (string, error) {
	attempts, err := c.Attempts(ctx)
	for i := range attempts {
		of := &attempts[i]
		isOf := slices.ContainsFunc(machines, func(machine clusterv1.Machine) bool { return machine.Name == of.Spec.MachineName })
		if isOf && isChosen(of) && !of.PhaseNow().IsEnd() {
			return "ElementalHostUpgrade " + of.Name + ": " + of.Status.Message, err
		}
	}
	return "", err
}

// AwaitPool waits until every host of a pool runs the image, its attempt has ended, and no Machine of it is being updated.
func (c *Cluster) AwaitPool(ctx context.Context, pool string, os image.Image) error {
	return Await(ctx, "pool "+pool+" to run "+os.Ref, func(ctx context.Context) (string, error) {
		machines, err := c.PoolMachines(ctx, pool)
		if err != nil {
			return "", err
		}
		for i := range machines {
			if missing, err := c.missingOn(ctx, &machines[i], os); err != nil || missing != "" {
				return missing, err
			}
		}
		if len(machines) == 0 {
			return "it has no Machine", nil
		}
		return c.unfinished(ctx, machines, func(of *infrav1.ElementalHostUpgrade) bool { return of.Spec.ImageURI == os.URI() })
	})
}

// missingOn describes why a Machine does not run the image yet.
func (c *Cluster) missingOn(ctx context.Context, machine *clusterv1.Machine, os image.Image) (string, error) {
	hosts, err := c.Hosts(ctx)
	if err != nil {
		return "", err
	}
	for i := range hosts {
		if hosts[i].Name == machine.Status.NodeRef.Name && hosts[i].Status.OS.Digest != os.PlatformDigest {
			return "ElementalHost " + hosts[i].Name + " runs " + hosts[i].Status.OS.ImageURI, nil
		}
	}
	return unless(machine.Status.Phase == "Running" && !isUpdating(machine), "Machine %s is %s", machine.Name, machine.Status.Phase), nil
}

// AwaitEnd waits until an attempt for the image has ended in a phase, and returns it.
func (c *Cluster) AwaitEnd(ctx context.Context, os image.Image, phase infrav1.UpgradePhase) (*infrav1.ElementalHostUpgrade, error) {
	var found *infrav1.ElementalHostUpgrade
	err := Await(ctx, fmt.Sprintf("an attempt to end as %s", phase), func(ctx context.Context) (string, error) {
		attempts, err := c.Attempts(ctx)
		seen := "no attempt"
		for i := range attempts {
			if attempts[i].Spec.ImageURI != os.URI() {
				continue
			}
			seen = fmt.Sprintf("%s: %s", attempts[i].Status.Phase, attempts[i].Status.Message)
			if attempts[i].Status.Phase == phase {
				found = &attempts[i]
				return "", nil
			}
		}
		return seen, err
	})
	return found, err
}

// AwaitMessage waits until an unfinished attempt for the image has a message with the text at a step, and
// returns it.
func (c *Cluster) AwaitMessage(ctx context.Context, os image.Image, step, text string) (*infrav1.ElementalHostUpgrade, error) {
	var found *infrav1.ElementalHostUpgrade
	err := Await(ctx, fmt.Sprintf("an attempt to say %q at step %s", text, step), func(ctx context.Context) (string, error) {
		attempts, err := c.Attempts(ctx)
		seen := "no attempt"
		for i := range attempts {
			status := &attempts[i].Status
			if attempts[i].Spec.ImageURI != os.URI() || status.CompletionTime != nil {
				continue
			}
			seen = fmt.Sprintf("%s: %s", status.Position(), status.Message)
			if status.Step == step && strings.Contains(status.Message, text) {
				found = &attempts[i]
				return "", nil
			}
		}
		return seen, err
	})
	return found, err
}

func unless(holds bool, format string, args ...any) string {
	if holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
