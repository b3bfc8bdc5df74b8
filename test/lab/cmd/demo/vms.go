// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

// pinned is a virtual machine that cannot leave its node.
const pinned = "pinned"

// vmsMove upgrades nodes that run migratable virtual machines.
func (s *story) vmsMove(ctx context.Context) error {
	s.act("virtual machines move, and none restarts")
	before := map[string]vm.State{}
	for n := range s.cluster.Options.Workers {
		name := fmt.Sprintf("shop-%d", n+1)
		state, err := s.cluster.CreateVM(ctx, vm.Spec{
			Name: name, EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Prefer: s.cluster.HostName(n + 1),
		})
		if err != nil {
			return err
		}
		s.say("virtual machine %s runs on %s", name, state.Node)
		before[name] = state
	}
	if err := s.upgrade(ctx, "v6"); err != nil {
		return err
	}
	for n := range s.cluster.Options.Workers {
		name := fmt.Sprintf("shop-%d", n+1)
		after, err := s.cluster.AwaitVM(ctx, keyOf(name), "")
		if err != nil {
			return err
		}
		s.say("virtual machine %s: from %s to %s, instance %s before and after", name, before[name].Node, after.Node, after.UID)
		s.expect(after.UID == before[name].UID, "virtual machine %s was restarted", name)
	}
	return nil
}

// vmsStopAndReturn upgrades a node with a virtual machine that cannot be migrated: it is not touched before a
// person approves, and runs again afterwards.
func (s *story) vmsStopAndReturn(ctx context.Context) error {
	s.act("one that cannot move holds its node, until a person says what is to become of it")
	home := s.cluster.HostName(s.cluster.Options.Workers)
	before, err := s.cluster.CreateVM(ctx, vm.Spec{Name: pinned, EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Require: home})
	if err != nil {
		return err
	}
	s.say("virtual machine %s runs on %s, and a node selector keeps it there", pinned, before.Node)
	wanted, err := s.push(ctx, "v7")
	if err != nil {
		return err
	}
	err = s.watch(ctx, func(ctx context.Context) error {
		_, err := s.cluster.AwaitMessage(ctx, wanted, "EvacuateVMs", pinned)
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.cluster.WorkloadKubectl(ctx, "--namespace", vm.Namespace, "label", "virtualmachine", pinned,
		infrav1.VMPolicyLabel+"="+string(infrav1.VMPolicyShutdownAndRestore))
	if err != nil {
		return err
	}
	if err := s.watch(ctx, func(ctx context.Context) error { return s.cluster.AwaitImage(ctx, wanted) }); err != nil {
		return err
	}
	return s.expectReturned(ctx, before)
}

func (s *story) expectReturned(ctx context.Context, before vm.State) error {
	after, err := s.cluster.AwaitVM(ctx, keyOf(pinned), before.Node)
	if err != nil {
		return err
	}
	machine := &kubevirtv1.VirtualMachine{}
	if err := s.cluster.WorkloadKube().Get(ctx, keyOf(pinned), machine); err != nil {
		return fmt.Errorf("reading virtual machine %s: %w", pinned, err)
	}
	strategy := kubevirtv1.RunStrategyHalted
	if machine.Spec.RunStrategy != nil {
		strategy = *machine.Spec.RunStrategy
	}
	s.say("\nvirtual machine %s runs on %s again, run strategy %s", pinned, after.Node, strategy)
	s.expect(strategy == kubevirtv1.RunStrategyAlways, "virtual machine %s has run strategy %s", pinned, strategy)
	s.expect(after.UID != before.UID, "virtual machine %s was not stopped while its node went down", pinned)
	return nil
}

// upgrade upgrades all hosts to an image.
func (s *story) upgrade(ctx context.Context, tag string) error {
	wanted, err := s.push(ctx, tag)
	if err != nil {
		return err
	}
	return s.watch(ctx, func(ctx context.Context) error { return s.cluster.AwaitImage(ctx, wanted) })
}

// push builds an image and patches the template to it.
func (s *story) push(ctx context.Context, tag string) (image.Image, error) {
	made, err := s.cluster.PushImage(ctx, tag, image.OS{})
	if err != nil {
		return made, err
	}
	return made, s.cluster.PatchImage(ctx, made)
}

func keyOf(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: vm.Namespace, Name: name}
}
