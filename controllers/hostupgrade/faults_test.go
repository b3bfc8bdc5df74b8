// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var errDied = errors.New("the controller has died")

// faults counts the controller's writes and lets it die, or one of them fail, on demand.
type faults struct {
	// count of writes so far that reached the API server, or should have.
	count int
	// evictions among them, which are asked for again and again.
	evictions int
	// dieAfter that many writes: no later one gets through. -1: never.
	dieAfter int
	// failAt that write alone, from 1. 0: none.
	failAt int
	// dieAtTrigger: nothing gets through after the trigger.
	dieAtTrigger bool
	// triggers are the attempts that the controller has given the trigger for, once for each time.
	triggers []string
	// meanwhile is what others do directly before a write of the controller. Nil: nothing.
	meanwhile func(ctx context.Context, object client.Object)
	// dead is true from the death of the controller to its restart, and disturbed from its death, or the
	// failure of a write, for good.
	dead, disturbed bool
}

func newFaults() *faults { return &faults{dieAfter: -1} }

// revive lets all further writes through.
func (f *faults) revive() { f.dieAfter, f.failAt, f.dieAtTrigger, f.dead = -1, 0, false, false }

// lasting is how many writes there were that change something each time.
func (f *faults) lasting() int { return f.count - f.evictions }

// before reports whether the next write gets through.
func (f *faults) before() error {
	if f.dieAfter >= 0 && f.count >= f.dieAfter {
		f.dead, f.disturbed = true, true
		return errDied
	}
	f.count++
	if f.count == f.failAt {
		f.disturbed = true
		return errors.New("the API server is overloaded")
	}
	return nil
}

func (f *faults) precede(ctx context.Context, object client.Object) {
	if f.meanwhile != nil {
		f.meanwhile(ctx, object)
	}
}

func (f *faults) wrap(inner client.WithWatch) client.Client {
	return interceptor.NewClient(inner, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := f.before(); err != nil {
				return err
			}
			f.precede(ctx, object)
			triggered := f.triggering(ctx, c, object)
			if err := c.Patch(ctx, object, patch, options...); err != nil {
				return err
			}
			if triggered != "" {
				f.triggers = append(f.triggers, triggered)
				if f.dieAtTrigger {
					f.dieAfter = f.count
				}
			}
			return nil
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := f.before(); err != nil {
				return err
			}
			return c.Delete(ctx, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if err := f.before(); err != nil {
				return err
			}
			f.precede(ctx, object)
			return c.SubResource(subResource).Patch(ctx, object, patch, options...)
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, subResource string, object, sub client.Object, options ...client.SubResourceCreateOption) error {
			if err := f.before(); err != nil {
				return err
			}
			f.evictions++
			return c.SubResource(subResource).Create(ctx, object, sub, options...)
		},
	})
}

// triggering returns the attempt, if a write makes a host's label "pending" that was not so before.
func (f *faults) triggering(ctx context.Context, c client.Reader, object client.Object) string {
	host, isHost := object.(*infrav1.ElementalHost)
	if !isHost || host.Labels[infrav1.InPlaceUpgradeLabel] != infrav1.InPlaceUpgradePending || host.Spec.Upgrade == nil {
		return ""
	}
	stored := &infrav1.ElementalHost{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(host), stored); err != nil || stored.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending {
		return ""
	}
	return host.Spec.Upgrade.Attempt
}
