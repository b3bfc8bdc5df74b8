// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// nodesArePaused pauses two nodes until a person approves them, who works on a virtual machine before approving
// the first.
func (s *story) nodesArePaused(ctx context.Context) error {
	first, last := s.cluster.HostName(1), s.cluster.HostName(s.cluster.Options.Workers)
	s.act("%s and %s are paused for work by hand", first, last)
	if err := s.cluster.PatchUpgradeOption(ctx, fmt.Sprintf(`{"strategy":{"mode":"Manual","pauseNodes":[%q,%q]}}`, first, last)); err != nil {
		return err
	}
	wanted, err := s.push(ctx, "v8")
	if err != nil {
		return err
	}
	resumes := map[string]resume{first: s.approve, last: s.shutDownAndResume}
	for len(resumes) > 0 {
		held, err := s.awaitPaused(ctx, wanted, resumes)
		if err != nil {
			return err
		}
		s.say("\n%s waits: %s", held.Status.NodeName, held.Status.Message)
		if err := resumes[held.Status.NodeName](ctx, held); err != nil {
			return err
		}
		delete(resumes, held.Status.NodeName)
	}
	if err := s.watch(ctx, func(ctx context.Context) error { return s.cluster.AwaitImage(ctx, wanted) }); err != nil {
		return err
	}
	return s.startAgain(ctx, last)
}

type resume = func(context.Context, *infrav1.ElementalHostUpgrade) error

// awaitPaused waits until one of the nodes that are not approved yet is paused.
func (s *story) awaitPaused(ctx context.Context, wanted image.Image, waiting map[string]resume) (*infrav1.ElementalHostUpgrade, error) {
	var held *infrav1.ElementalHostUpgrade
	err := s.watch(ctx, func(ctx context.Context) error {
		return scenario.Await(ctx, "a node to be paused", func(ctx context.Context) (string, error) {
			attempts, err := s.cluster.Attempts(ctx)
			for i := range attempts {
				attempt := &attempts[i]
				if attempt.Spec.ImageURI == wanted.URI() && waiting[attempt.Status.NodeName] != nil && strings.Contains(attempt.Status.Message, "is paused") {
					held = attempt
					return "", nil
				}
			}
			return "none is", err
		})
	})
	return held, err
}

// shutDownAndResume shows what a person may do with a virtual machine while its node is paused.
func (s *story) shutDownAndResume(ctx context.Context, held *infrav1.ElementalHostUpgrade) error {
	if err := s.setRunStrategy(ctx, "Halted"); err != nil {
		return err
	}
	_, err := s.cluster.WorkloadKubectl(ctx, "annotate", "node", held.Status.NodeName, infrav1.NodeUpgradePauseAnnotation+"-")
	return err
}

func (s *story) approve(ctx context.Context, held *infrav1.ElementalHostUpgrade) error {
	_, err := s.cluster.Kubectl(ctx, "--namespace", held.Namespace, "patch", "elementalhostupgrade", held.Name,
		"--type", "merge", "--patch", `{"spec":{"approved":true}}`)
	return err
}

// startAgain expects the virtual machine as the person left it, and starts it.
func (s *story) startAgain(ctx context.Context, node string) error {
	state, err := s.cluster.VM(ctx, keyOf(pinned))
	if err != nil {
		return err
	}
	s.expect(state.UID == "", "virtual machine %s was started, which a person had stopped", pinned)
	if err := s.setRunStrategy(ctx, "Always"); err != nil {
		return err
	}
	_, err = s.cluster.AwaitVM(ctx, keyOf(pinned), node)
	return err
}

func (s *story) setRunStrategy(ctx context.Context, strategy string) error {
	_, err := s.cluster.WorkloadKubectl(ctx, "--namespace", vm.Namespace, "patch", "virtualmachine", pinned,
		"--type", "merge", "--patch", fmt.Sprintf(`{"spec":{"runStrategy":%q}}`, strategy))
	return err
}
