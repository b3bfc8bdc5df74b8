// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// Orders of stages.
	canaryFirst = `  - {pools: [workers-a], nodes: 1, soakSeconds: 15}
  - {pools: ["*"]}
`
	controlPlaneFirst = `  - {pools: [control-plane]}
` + canaryFirst
)

// planOptions are those of a cluster that is worth an order: three hosts of a control plane, and two pools.
func planOptions() scenario.Options {
	return scenario.Options{ControlPlane: 3, Pools: []scenario.Pool{{Name: "workers-a", Workers: 2}, {Name: "workers-b", Workers: 1}}}
}

// inOrder upgrades the cluster by one object, and pauses that while the canary soaks.
func (s *story) inOrder(ctx context.Context) error {
	s.act("one object upgrades the cluster, stage by stage")
	const name = "os-v2"
	if _, err := s.upgradeCluster(ctx, name, "v2", image.OS{}, controlPlaneFirst, soaks); err != nil {
		return err
	}
	s.say("\nthe canary is done: nobody else begins before its soak is over, or while the upgrade is paused")
	for _, patch := range []string{`{"spec":{"paused":true}}`, `{"spec":{"paused":false}}`} {
		if err := s.patchUpgrade(ctx, name, patch); err != nil {
			return err
		}
	}
	return s.watch(ctx, func(ctx context.Context) error {
		return s.awaitUpgrade(ctx, name, isAt(infrav1.ClusterUpgradeSucceeded))
	})
}

// badCanary upgrades to an image that does not boot, and then to one that does.
func (s *story) badCanary(ctx context.Context) error {
	s.act("a bad image falls back on the canary, and nobody else gets it")
	bad, err := s.upgradeCluster(ctx, "os-v3", "v3-bad", image.OS{Boot: source.BootUnhealthy}, canaryFirst, isAt(infrav1.ClusterUpgradeFailed))
	if err != nil {
		return err
	}
	s.title("... and another object, with a good image, takes its place")
	if _, err := s.upgradeCluster(ctx, "os-v4", "v4", image.OS{}, canaryFirst, isAt(infrav1.ClusterUpgradeSucceeded)); err != nil {
		return err
	}
	if err := s.awaitUpgrade(ctx, "os-v3", isAt(infrav1.ClusterUpgradeSuperseded)); err != nil {
		return err
	}
	return s.checkOnlyOneTried(bad)
}

// upgradeCluster applies an ElementalClusterUpgrade to a new image, and shows what it does until a condition holds.
func (s *story) upgradeCluster(ctx context.Context, name, tag string, content image.OS, order string, holds condition) (image.Image, error) {
	wanted, err := s.cluster.PushImage(ctx, tag, content)
	if err != nil {
		return wanted, err
	}
	manifest := fmt.Sprintf(`apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: ElementalClusterUpgrade
metadata: {name: %s, namespace: %s}
spec:
  clusterName: %s
  osVersion: {imageURI: %q}
  order:
%s`, name, s.cluster.Namespace(), s.cluster.Options.Name, wanted.URI(), order)
	file := filepath.Join(s.cluster.Lab.Dir(), name+".yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		return wanted, fmt.Errorf("writing ElementalClusterUpgrade %s: %w", name, err)
	}
	s.say("%s", manifest)
	if _, err := s.cluster.Kubectl(ctx, "apply", "--filename", file); err != nil {
		return wanted, err
	}
	return wanted, s.watch(ctx, func(ctx context.Context) error { return s.awaitUpgrade(ctx, name, holds) })
}

func (s *story) patchUpgrade(ctx context.Context, name, patch string) error {
	_, err := s.cluster.Kubectl(ctx, "--namespace", s.cluster.Namespace(), "patch", "elementalclusterupgrade", name, "--type", "merge", "--patch", patch)
	return err
}

type condition = func(infrav1.ElementalClusterUpgradeStatus) bool

func isAt(phase infrav1.ClusterUpgradePhase) condition {
	return func(status infrav1.ElementalClusterUpgradeStatus) bool { return status.Phase == phase }
}

func soaks(status infrav1.ElementalClusterUpgradeStatus) bool {
	return strings.Contains(status.Message, "is done, and it soaks until")
}

func (s *story) awaitUpgrade(ctx context.Context, name string, holds condition) error {
	return scenario.Await(ctx, "ElementalClusterUpgrade "+name, func(ctx context.Context) (string, error) {
		upgrade := &infrav1.ElementalClusterUpgrade{}
		key := client.ObjectKey{Namespace: s.cluster.Namespace(), Name: name}
		if err := s.cluster.Lab.Kube.Get(ctx, key, upgrade); err != nil {
			return "", fmt.Errorf("reading ElementalClusterUpgrade %s: %w", name, err)
		}
		if holds(upgrade.Status) {
			return "", nil
		}
		return fmt.Sprintf("%s: %s", upgrade.Status.Phase, upgrade.Status.Message), nil
	})
}

// printUpgrades prints every change of stage of an ElementalClusterUpgrade.
func (s *story) printUpgrades(ctx context.Context, seen map[string]string) error {
	upgrades := &infrav1.ElementalClusterUpgradeList{}
	if err := s.cluster.Lab.Kube.List(ctx, upgrades, client.InNamespace(s.cluster.Namespace())); err != nil {
		return fmt.Errorf("listing ElementalClusterUpgrades: %w", err)
	}
	for i := range upgrades.Items {
		name, status := upgrades.Items[i].Name, upgrades.Items[i].Status
		state := fmt.Sprintf("%-13s %-12s %-17s", name, status.Phase, status.Stage)
		if seen[name] == state || status.Phase == "" {
			continue
		}
		seen[name] = state
		s.say("%s %s", state, status.Message)
	}
	return nil
}
