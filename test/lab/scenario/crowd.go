// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

// crowdTimeout is for hundreds of virtual machines to start.
const crowdTimeout = 20 * time.Minute

// Crowd is many virtual machines in a Namespace of their own.
type Crowd struct {
	cluster   *Cluster
	namespace string
	size      int
	// Instances are the UIDs of their VirtualMachineInstances, by name.
	Instances map[string]string
}

// CreateCrowd creates migratable virtual machines, and waits until all run on a node. All other nodes are
// cordoned meanwhile, because the scheduler would spread them.
func (c *Cluster) CreateCrowd(ctx context.Context, namespace string, size int, node string) (*Crowd, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		if nodes[i].Name == node {
			continue
		}
		if _, err := c.Lab.WorkloadKubectl(ctx, "cordon", nodes[i].Name); err != nil {
			return nil, err
		}
	}
	crowd := &Crowd{cluster: c, namespace: namespace, size: size}
	for i := range size {
		spec := vm.Spec{Namespace: namespace, Name: fmt.Sprintf("vm-%d", i), EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate}
		if _, err := vm.Create(ctx, c.WorkloadKube(), spec); err != nil {
			return nil, err
		}
	}
	if err := crowd.await(ctx); err != nil {
		return nil, err
	}
	for i := range nodes {
		if _, err := c.Lab.WorkloadKubectl(ctx, "uncordon", nodes[i].Name); err != nil {
			return nil, err
		}
	}
	crowd.Instances, err = crowd.Running(ctx)
	return crowd, err
}

func (c *Crowd) await(ctx context.Context) error {
	return awaitMany(ctx, "a crowd of virtual machines to run", 1, crowdTimeout, func(ctx context.Context) (string, error) {
		running, err := c.Running(ctx)
		return unless(len(running) == c.size, "%d of %d", len(running), c.size), err
	})
}

// Running are the UIDs of those that run and are migratable, by name.
func (c *Crowd) Running(ctx context.Context) (map[string]string, error) {
	instances := &kubevirtv1.VirtualMachineInstanceList{}
	if err := c.cluster.WorkloadKube().List(ctx, instances, client.InNamespace(c.namespace)); err != nil {
		return nil, fmt.Errorf("listing a crowd: %w", err)
	}
	running := map[string]string{}
	for i := range instances.Items {
		if instances.Items[i].IsRunning() && instances.Items[i].IsMigratable() {
			running[instances.Items[i].Name] = string(instances.Items[i].UID)
		}
	}
	return running, nil
}

// Delete deletes all of them.
func (c *Crowd) Delete(ctx context.Context) error {
	if err := c.cluster.WorkloadKube().DeleteAllOf(ctx, &kubevirtv1.VirtualMachine{}, client.InNamespace(c.namespace)); err != nil {
		return fmt.Errorf("deleting a crowd: %w", err)
	}
	return awaitMany(ctx, "a crowd of virtual machines to go", 1, crowdTimeout, func(ctx context.Context) (string, error) {
		instances := &kubevirtv1.VirtualMachineInstanceList{}
		err := c.cluster.WorkloadKube().List(ctx, instances, client.InNamespace(c.namespace))
		return unless(len(instances.Items) == 0, "%d left", len(instances.Items)), err
	})
}

// Moves counts how often an upgrade to an image migrated one of them.
func (c *Crowd) Moves(ctx context.Context, wanted image.Image) (int, error) {
	attempts, err := c.cluster.Attempts(ctx)
	moves := 0
	for i := range attempts {
		if attempts[i].Spec.ImageURI != wanted.URI() {
			continue
		}
		for _, machine := range attempts[i].Status.VirtualMachines {
			if machine.Namespace == c.namespace && machine.Decision == infrav1.VMMigrate {
				moves++
			}
		}
	}
	return moves, err
}

// Calls counts the requests of a user to the workload cluster since a time, by "verb resource/subresource":
// writes, lists, and reads that concern virtual machines.
func Calls(events []auditv1.Event, user string, since time.Time) map[string]int {
	calls := map[string]int{}
	for _, event := range audit.ByUser(events, user) {
		if event.ObjectRef == nil || event.RequestReceivedTimestamp.Time.Before(since) {
			continue
		}
		what := event.Verb + " " + event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			what += "/" + event.ObjectRef.Subresource
		}
		calls[what]++
	}
	return calls
}
