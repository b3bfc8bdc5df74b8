// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// The hooks by which Cluster API has a Machine updated in place.
const (
	canUpdate = "canupdatemachineset"
	update    = "updatemachine"
)

// rotate has the MachineDeployment refer to another template. That is a change of Cluster API's, which asks the extension.
func (s *story) rotate(ctx context.Context) error {
	s.patched.To = time.Now()
	s.act("a rotated reference: Cluster API asks the extension, and updates the Machines in place")
	wanted, err := s.cluster.PushImage(ctx, "v5", image.OS{})
	if err != nil {
		return err
	}
	before, err := s.calls(ctx)
	if err != nil {
		return err
	}
	if err := s.cluster.Rotate(ctx, wanted); err != nil {
		return err
	}
	updated := map[string]bool{}
	err = s.watch(ctx, func(ctx context.Context) error { return s.awaitUpdates(ctx, wanted, updated) })
	if err != nil {
		return err
	}
	after, err := s.calls(ctx)
	if err != nil {
		return err
	}
	s.say("\ncalls of the extension: CanUpdateMachineSet %.0f, UpdateMachine %.0f; Machines with condition Updating: %d",
		after[canUpdate]-before[canUpdate], after[update]-before[update], len(updated))
	s.expect(after[canUpdate] > before[canUpdate], "Cluster API did not ask whether the Machines can be updated")
	s.expect(after[update] > before[update], "Cluster API did not have the Machines updated")
	s.expect(len(updated) == len(s.before), "condition Updating was seen on %d Machines of %d", len(updated), len(s.before))
	return nil
}

// awaitUpdates waits for an image, and collects the Machines on which Cluster API shows meanwhile that it updates them.
func (s *story) awaitUpdates(ctx context.Context, wanted image.Image, updated map[string]bool) error {
	return scenario.Await(ctx, "all workers to run "+wanted.Ref, func(ctx context.Context) (string, error) {
		machines, err := s.cluster.Machines(ctx)
		if err != nil {
			return "", err
		}
		for i := range machines {
			if conditions.IsTrue(&machines[i], clusterv1.MachineUpdatingCondition) {
				updated[machines[i].Name] = true
			}
		}
		return s.cluster.MissingImage(ctx, wanted)
	})
}

// calls counts the requests that the extension has answered, by hook, in the metrics of the manager.
func (s *story) calls(ctx context.Context) (map[string]float64, error) {
	samples, err := s.cluster.Lab.Metrics(ctx)
	if err != nil {
		return nil, fmt.Errorf("counting the calls of the extension: %w", err)
	}
	found := map[string]float64{}
	for name, value := range samples {
		if !strings.HasPrefix(name, "controller_runtime_webhook_requests_total") {
			continue
		}
		_, hook, _ := strings.Cut(name, "/hooks.runtime.cluster.x-k8s.io/")
		parts := strings.Split(hook, "/")
		for _, counted := range []string{canUpdate, update} {
			if slices.Contains(parts, counted) {
				found[counted] += value
			}
		}
	}
	return found, nil
}
