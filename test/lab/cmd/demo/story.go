// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// story is the state of the demo.
type story struct {
	cluster *scenario.Cluster
	// vms reports whether the parts about virtual machines are run.
	vms bool
	// single is a cluster of one host, which is its control plane.
	single bool
	// plan is a cluster that ElementalClusterUpgrades upgrade.
	plan bool
	out  io.Writer

	before []scenario.Identity
	// bad is the image that fell back.
	bad image.Image
	// acts counts those that have started.
	acts int
	// patched is the time in which only a template was patched.
	patched audit.Interval
	// faults are the expectations that failed.
	faults []string
}

func (s *story) tell(ctx context.Context) error {
	acts := []func(context.Context) error{s.prologue, s.patch, s.badImage, s.fix, s.rotate}
	switch {
	case s.single:
		acts = []func(context.Context) error{s.prologue, s.consent, s.patch, s.badImage, s.fix}
	case s.plan:
		acts = []func(context.Context) error{s.prologue, s.inOrder, s.badCanary}
	}
	if s.vms {
		acts = append(acts, s.vmsMove, s.vmsStopAndReturn, s.nodesArePaused)
	}
	for _, act := range append(acts, s.epilogue) {
		if err := act(ctx); err != nil {
			return err
		}
	}
	if len(s.faults) > 0 {
		return errors.New(strings.Join(s.faults, "; "))
	}
	s.title("Everything was as it should be")
	return nil
}

func (s *story) prologue(ctx context.Context) error {
	if s.single {
		s.title("A cluster of one Elemental host, which is its control plane")
	} else {
		s.title("A cluster of %d Elemental hosts", s.cluster.Options.ControlPlane+s.cluster.Options.Workers)
	}
	if err := s.cluster.Create(ctx); err != nil {
		return err
	}
	if !s.single { // whose only node takes nothing but the control plane
		if err := s.cluster.DeployWeb(ctx); err != nil {
			return err
		}
	}
	var err error
	s.before, err = s.cluster.Identities(ctx)
	s.patched.From = time.Now()
	return err
}

func (s *story) patch(ctx context.Context) error {
	s.act("one patch upgrades all hosts in place")
	good, err := s.cluster.PushImage(ctx, "v2", image.OS{})
	if err != nil {
		return err
	}
	if err := s.patchImage(ctx, good); err != nil {
		return err
	}
	return s.watch(ctx, func(ctx context.Context) error { return s.awaitImage(ctx, good) })
}

func (s *story) badImage(ctx context.Context) error {
	s.act("a bad image falls back, and stops the rollout")
	bad, err := s.cluster.PushImage(ctx, "v3-bad", image.OS{Boot: source.BootUnhealthy})
	if err != nil {
		return err
	}
	if err := s.patchImage(ctx, bad); err != nil {
		return err
	}
	var ended *infrav1.ElementalHostUpgrade
	err = s.watch(ctx, func(ctx context.Context) error {
		ended, err = s.cluster.AwaitEnd(ctx, bad, infrav1.UpgradeRolledBack)
		return err
	})
	if err != nil {
		return err
	}
	s.bad = bad
	s.say("\n%s is %s: %s", ended.Status.NodeName, ended.Status.Phase, ended.Status.Message)
	return nil
}

func (s *story) fix(ctx context.Context) error {
	s.act("a good image completes it by itself")
	fixed, err := s.cluster.PushImage(ctx, "v4", image.OS{})
	if err != nil {
		return err
	}
	if err := s.patchImage(ctx, fixed); err != nil {
		return err
	}
	if err := s.watch(ctx, func(ctx context.Context) error { return s.awaitImage(ctx, fixed) }); err != nil {
		return err
	}
	return s.checkOnlyOneTried(s.bad)
}

// consent accepts what a reboot of the only host means.
func (s *story) consent(ctx context.Context) error {
	s.title("Consent: the API of the cluster is down while its only host reboots")
	return s.cluster.PatchUpgradeOption(ctx, `{"allowQuorumLoss":true}`)
}

func (s *story) patchImage(ctx context.Context, os image.Image) error {
	if s.single {
		return s.cluster.PatchControlPlaneImage(ctx, os)
	}
	return s.cluster.PatchImage(ctx, os)
}

func (s *story) awaitImage(ctx context.Context, os image.Image) error {
	if s.single { // of which Cluster API shows no update whose end could be awaited
		_, err := s.cluster.AwaitEnd(ctx, os, infrav1.UpgradeSucceeded)
		return err
	}
	return s.cluster.AwaitImage(ctx, os)
}

// checkOnlyOneTried counts, in the audit log, the hosts that were triggered for the bad image.
func (s *story) checkOnlyOneTried(bad image.Image) error {
	events, err := audit.Read(s.cluster.Lab.Management.AuditLog())
	if err != nil {
		return err
	}
	hosts := audit.TriggeredFor(events, bad.URI())
	s.say("\nhosts that were triggered for the bad image: %s", strings.Join(hosts, ", "))
	s.expect(len(hosts) == 1, "%d hosts were triggered for the bad image", len(hosts))
	return nil
}

func (s *story) expect(holds bool, format string, args ...any) {
	if !holds {
		s.faults = append(s.faults, fmt.Sprintf(format, args...))
	}
}

// act begins another one.
func (s *story) act(format string, args ...any) {
	s.acts++
	s.title("Act %s: %s", [...]string{"one", "two", "three", "four", "five", "six", "seven"}[s.acts-1], fmt.Sprintf(format, args...))
}

func (s *story) title(format string, args ...any) {
	s.say("\n== %s ==\n", fmt.Sprintf(format, args...))
}

func (s *story) command(line string) { s.say("$ %s", line) }

func (s *story) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, format+"\n", args...)
}

const watchEvery = 500 * time.Millisecond
