// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package association

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

const (
	// maxLost is how many hosts may be lost to other machines in one call before the claim is retried later.
	maxLost = 8
	// maxTries is how often one host is tried while it keeps changing.
	maxTries = 5
)

var (
	// ErrNoHost means that no free host matches; the claim has to wait until a host becomes free.
	ErrNoHost = errors.New("no free ElementalHost matches")
	// ErrContended means that other machines claimed the hosts, or that the machine was read from a stale cache: retry soon.
	ErrContended = errors.New("another claim was faster")
)

// Claim is an ElementalMachine that needs a host.
type Claim struct {
	// Machine that claims. It is not changed.
	Machine *infrav1.ElementalMachine
	// MachineName is the CAPI Machine that owns it.
	MachineName string
	// ClusterName is the Cluster it belongs to.
	ClusterName string
	// BootstrapSecret has the bootstrap data.
	BootstrapSecret string
	// FailureDomain the host has to be in. Empty: any.
	FailureDomain string
	// ElementalCluster is the Cluster's infrastructure. If it is nil, because it is unknown, the host keeps its imageVerification.
	ElementalCluster *infrav1.ElementalCluster
}

// Claimer claims hosts for machines.
type Claimer struct {
	// Client writes, and reads hosts, machines and registrations from an indexed cache.
	Client client.Client
	// Live bypasses the cache.
	Live client.Reader
	// WatchFilterValue that a host has to carry; see the manager's flag. Empty: any host.
	WatchFilterValue string
	// OSReplaced is called when a claim has replaced the OS that a host was to run before, as one that a user has set. Nil: nobody is told.
	OSReplaced func(host *infrav1.ElementalHost, former infrav1.OSVersionManagement)
}

// Claim assigns a host to the machine and returns it. A claim that was recorded or made before a crash is resumed. It returns ErrNoHost or
// ErrContended if none can be assigned now.
func (c *Claimer) Claim(ctx context.Context, claim Claim) (*infrav1.ElementalHost, error) {
	claim.Machine = claim.Machine.DeepCopy()
	host, err := c.resume(ctx, claim)
	if err != nil {
		return nil, err
	}
	for lost := 0; host == nil && lost < maxLost; lost++ {
		if host, err = c.attempt(ctx, claim, lost); err != nil {
			return nil, err
		}
	}
	if host == nil {
		return nil, ErrContended
	}
	return host, c.bind(ctx, claim.Machine, host)
}

// resume completes a claim that was interrupted by a crash. It returns nil if there is none, or if the recorded host was claimed by another
// machine.
func (c *Claimer) resume(ctx context.Context, claim Claim) (*infrav1.ElementalHost, error) {
	name := Recorded(claim.Machine)
	if name == "" {
		return nil, nil
	}
	host, err := c.read(ctx, claim.Machine.Namespace, name)
	if err != nil || host == nil {
		return nil, err
	}
	if Serves(host, claim.Machine) {
		return host, nil
	}
	return c.take(ctx, claim, host)
}

// attempt tries to claim one candidate. It returns nil if another machine claimed it.
func (c *Claimer) attempt(ctx context.Context, claim Claim, lost int) (*infrav1.ElementalHost, error) {
	hosts, err := c.candidates(ctx, claim)
	if err != nil {
		return nil, err
	}
	if len(hosts) == 0 {
		return nil, ErrNoHost
	}
	host := pick(hosts, claim.Machine, lost).DeepCopy()
	if err := c.record(ctx, claim.Machine, host.Name); err != nil {
		return nil, err
	}
	return c.take(ctx, claim, host)
}

// record stores the name of the host that the machine is about to claim, with the machine's resourceVersion: if the machine was stale, this
// fails before any host is changed.
func (c *Claimer) record(ctx context.Context, machine *infrav1.ElementalMachine, host string) error {
	before := machine.DeepCopy()
	if machine.Annotations == nil {
		machine.Annotations = map[string]string{}
	}
	machine.Annotations[infrav1.ClaimingHostAnnotation] = host
	return c.patch(ctx, machine, before, "recording the claim to ElementalHost "+host)
}

// take sets the lock. It returns nil if the host was claimed by another machine, or cannot be claimed any more. If the host only changed,
// for example by a report of its agent, it is read and tried again: the machine must not claim another host before this one is known to be
// lost.
func (c *Claimer) take(ctx context.Context, claim Claim, host *infrav1.ElementalHost) (*infrav1.ElementalHost, error) {
	for try := 0; try < maxTries; try++ {
		if host == nil || !claimable(host, claim.Machine) {
			return nil, nil
		}
		err := c.lock(ctx, claim, host)
		if err == nil {
			return host, nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("claiming ElementalHost %s: %w", host.Name, err)
		}
		if host, err = c.read(ctx, host.Namespace, host.Name); err != nil {
			return nil, err
		}
		if host != nil && Serves(host, claim.Machine) {
			return host, nil
		}
	}
	return nil, ErrContended
}

// lock writes the whole association to the host in one patch, with the resourceVersion that was read.
func (c *Claimer) lock(ctx context.Context, claim Claim, host *infrav1.ElementalHost) error {
	before := host.DeepCopy()
	if err := Assign(ctx, c.Client, host, claim); err != nil {
		return err
	}
	if claim.BootstrapSecret != "" {
		host.Spec.BootstrapSecret = &infrav1.SecretReference{Name: claim.BootstrapSecret}
	}
	controllerutil.AddFinalizer(host, infrav1.ElementalMachineFinalizer)
	if err := c.Client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	former := before.Spec.OSVersionManagement
	if c.OSReplaced != nil && !former.IsZero() && !osversion.Same(former, host.Spec.OSVersionManagement) {
		c.OSReplaced(host, former)
	}
	return nil
}

// bind stores the host in the machine.
func (c *Claimer) bind(ctx context.Context, machine *infrav1.ElementalMachine, host *infrav1.ElementalHost) error {
	before := machine.DeepCopy()
	machine.Spec.HostRef = &infrav1.LocalReference{Name: host.Name, UID: host.UID}
	machine.Spec.ProviderID = ProviderID(host)
	delete(machine.Annotations, infrav1.ClaimingHostAnnotation)
	return c.patch(ctx, machine, before, "writing spec.hostRef of ElementalMachine "+machine.Name)
}

func (c *Claimer) patch(ctx context.Context, machine, before *infrav1.ElementalMachine, doing string) error {
	err := c.Client.Patch(ctx, machine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return ErrContended
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// read returns a host as read live, or nil if it does not exist.
func (c *Claimer) read(ctx context.Context, namespace, name string) (*infrav1.ElementalHost, error) {
	host := &infrav1.ElementalHost{}
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, host)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ElementalHost %s: %w", name, err)
	}
	return host, nil
}
