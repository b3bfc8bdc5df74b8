// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"time"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// watch prints every change of an attempt, as `kubectl get ehu --watch` would, and each stage of a cluster's upgrade, until the condition holds.
func (s *story) watch(ctx context.Context, until func(context.Context) error) error {
	s.say("%-13s %-12s %-17s %-8s %-8s %s", "NODE", "PHASE", "STEP", "FROM", "TO", "MESSAGE")
	done := make(chan error, 1)
	go func() { done <- until(ctx) }()
	seen := map[string]string{}
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		if err := s.printChanges(ctx, seen); err != nil {
			return err
		}
		select {
		case err := <-done:
			if err == nil {
				err = s.printChanges(ctx, seen)
			}
			return err
		case <-ticker.C:
		}
	}
}

func (s *story) printChanges(ctx context.Context, seen map[string]string) error {
	attempts, err := s.cluster.Attempts(ctx)
	if err != nil {
		return err
	}
	first := len(seen) == 0
	if err := s.printUpgrades(ctx, seen); err != nil {
		return err
	}
	for i := range attempts {
		u := &attempts[i]
		state := string(u.Status.Phase) + u.Status.Step + u.Status.Message
		// Attempts that had ended before this part of the demo began are left out.
		if seen[u.Name] == state || u.Status.Phase == "" || (first && u.Status.CompletionTime != nil && !s.superseding(u)) {
			seen[u.Name] = state
			continue
		}
		seen[u.Name] = state
		s.say("%-13s %-12s %-17s %-8s %-8s %s", u.Status.NodeName, u.Status.Phase, cmp.Or(u.Status.Position(), "-"),
			tag(u.Status.From.ImageURI), tag(u.Spec.ImageURI), u.Status.Message)
	}
	return nil
}

// superseding reports whether an ended attempt is about to be deleted in favor of the next one.
func (s *story) superseding(u *infrav1.ElementalHostUpgrade) bool {
	return u.Status.Phase == infrav1.UpgradeRolledBack
}

// tag of an image, which is all that differs between the images of the demo.
func tag(uri string) string {
	for i := len(uri) - 1; i >= 0; i-- {
		if uri[i] == ':' {
			return uri[i+1:]
		}
	}
	return cmp.Or(uri, "-")
}
