// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// bootModes in which a host runs an OS that was installed on it. After a fallback that is passive, and
// stays so until the next upgrade: an update back to the former image is then already done.
var bootModes = []string{"active", "passive"}

// observation is everything that an answer depends on, read from one reader.
type observation struct {
	wanted *wantedOS
	host   *infrav1.ElementalHost
	// attempt of the rollout or, while none is recorded, the last one to the same OS of the template; nil if there is none.
	attempt *infrav1.ElementalHostUpgrade
	// unfinished is another attempt of the same Machine that has not ended.
	unfinished string
	// succeeded are the hashes of the OS versions of the Machine's successful attempts.
	succeeded []string
	// rollout of the desired OS to the Cluster; nil while it is not recorded.
	rollout *infrav1.ElementalRollout
}

// unmanaged reports whether neither the request nor the ElementalMachine, read live, specifies an image: there is nothing to do
// then, regardless of the host.
func (h *Handlers) unmanaged(ctx context.Context, asked *question) (bool, error) {
	if !asked.isUnmanaged {
		return false, nil
	}
	machine, err := existing.Get(ctx, h.Live, &clusterv1.Machine{}, asked.machine.Namespace, asked.machine.Name)
	if err != nil || machine == nil {
		return false, err
	}
	ref := machine.Spec.InfrastructureRef
	named := client.ObjectKey{Namespace: machine.Namespace, Name: ref.Name}
	if !association.NamesElementalMachine(ref) || named != asked.elemental {
		return false, nil
	}
	elemental, err := existing.Get(ctx, h.Live, &infrav1.ElementalMachine{}, named.Namespace, named.Name)
	if err != nil || elemental == nil {
		return false, err
	}
	wanted, err := wantedBy(&association.Chain{Machine: machine, Elemental: elemental})
	return err == nil && wanted.image() == "" && wanted.unresolved() == "", err
}

// observeCached observes a Machine in the cache, whether or not its host refers to it: an attempt is translated in either case. If an object
// is missing it returns the answer.
func (h *Handlers) observeCached(ctx context.Context, key client.ObjectKey) (*observation, answer, error) {
	chain := &association.Chain{}
	var err error
	if chain.Machine, err = existing.Get(ctx, h.Client, &clusterv1.Machine{}, key.Namespace, key.Name); err != nil || chain.Machine == nil {
		return nil, inProgress(fmt.Sprintf("Machine %s does not exist", key.Name)), err
	}
	name := chain.Machine.Spec.InfrastructureRef.Name
	if chain.Elemental, err = existing.Get(ctx, h.Client, &infrav1.ElementalMachine{}, key.Namespace, name); err != nil || chain.Elemental == nil {
		return nil, inProgress(fmt.Sprintf("ElementalMachine %s, which Machine %s names, does not exist", name, key.Name)), err
	}
	if name = association.Recorded(chain.Elemental); name == "" {
		return nil, inProgress("Waiting for an ElementalHost to serve the Machine"), nil
	}
	if chain.Host, err = existing.Get(ctx, h.Client, &infrav1.ElementalHost{}, key.Namespace, name); err != nil || chain.Host == nil {
		return nil, inProgress(fmt.Sprintf("ElementalHost %s, which serves the Machine, does not exist", name)), err
	}
	if association.Replaced(chain.Host, chain.Elemental) {
		return nil, inProgress(fmt.Sprintf("ElementalHost %s was registered again and is not known to be the host that serves the Machine", name)), nil
	}
	seen, err := observe(ctx, h.Client, chain)
	return seen, answer{}, err // with an error, seen is nil
}

// observeLive observes a Machine live, before anything is done about it. It returns the answer if Machine, ElementalMachine and host do not
// refer to one another, or if the request is older than they are.
func (h *Handlers) observeLive(ctx context.Context, asked *question) (*observation, answer, error) {
	chain, err := association.ChainOfMachine(ctx, h.Live, asked.machine)
	if err != nil {
		return nil, answer{}, err
	}
	if key := client.ObjectKeyFromObject(chain.Elemental); key != asked.elemental {
		return nil, answer{}, contradicts("desired.infrastructureMachine is ElementalMachine %s, and spec.infrastructureRef of Machine %s names ElementalMachine %s",
			asked.elemental, asked.machine, key)
	}
	seen, err := observe(ctx, h.Live, chain)
	if err != nil {
		return nil, answer{}, err
	}
	if seen.wanted.hash() != asked.hash {
		return nil, inProgress(fmt.Sprintf("Waiting for Cluster API to request the present OS of ElementalMachine %s", chain.Elemental.Name)), nil
	}
	return seen, answer{}, nil
}

// observe reads everything else that the answer depends on.
func observe(ctx context.Context, reader client.Reader, chain *association.Chain) (*observation, error) {
	wanted, err := wantedBy(chain)
	if err != nil {
		return nil, err
	}
	seen := &observation{wanted: wanted, host: chain.Host}
	if err := seen.readRollout(ctx, reader); err != nil {
		return nil, err
	}
	if err := seen.readAttempts(ctx, reader); err != nil {
		return nil, err
	}
	return seen, nil
}

func (o *observation) readRollout(ctx context.Context, reader client.Reader) error {
	all, err := rollout.OfTemplate(ctx, reader, o.host.Namespace, o.wanted.template())
	o.rollout = rollout.Current(all, o.wanted.machine.Spec.ClusterName, o.wanted.elemental.Spec.OSVersionManagement)
	return err
}

// upgradeName is the name of the attempt; empty while no rollout is recorded.
func (o *observation) upgradeName() string {
	if o.rollout == nil {
		return ""
	}
	return attempts.NameFor(o.wanted.machine, o.host.Name, o.rollout.Name)
}

// pinned is the digest that the rollout resolved the image to; empty if it did not.
func (o *observation) pinned() string {
	if o.rollout == nil {
		return ""
	}
	return o.rollout.Spec.ImageDigest
}

func (o *observation) readAttempts(ctx context.Context, reader client.Reader) error {
	list := &infrav1.ElementalHostUpgradeList{}
	err := reader.List(ctx, list, client.InNamespace(o.host.Namespace),
		client.MatchingFields{attempts.ByMachine: o.wanted.machine.Name})
	if err != nil {
		return fmt.Errorf("listing ElementalHostUpgrades: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b infrav1.ElementalHostUpgrade) int { return cmp.Compare(a.Name, b.Name) })
	name := o.upgradeName()
	if name == "" {
		o.attempt = attempts.LastUpdate(list.Items, o.wanted.template(), o.wanted.elemental.Spec.OSVersionManagement)
	}
	for i := range list.Items {
		attempt := &list.Items[i]
		switch {
		case attempt.Name == name:
			o.attempt = attempt
		case o.attempt != nil && attempt.UID == o.attempt.UID:
		case !attempt.PhaseNow().IsEnd() && o.unfinished == "":
			o.unfinished = attempt.Name
		case attempt.PhaseNow() == infrav1.UpgradeSucceeded && attempt.Spec.HostName == o.host.Name:
			o.succeeded = append(o.succeeded, osversion.Hash(attempt.Spec.OSVersionManagement))
		}
	}
	return nil
}

// satisfied reports whether the host already is in the desired state: booted into the image, and not part of an
// attempt.
func (o *observation) satisfied() bool {
	if o.host.Spec.Upgrade != nil || o.host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending {
		return false
	}
	if !runs(o.host, o.wanted.image(), o.pinned()) {
		return false
	}
	return osversion.IsImageOnly(o.wanted.elemental.Spec.OSVersionManagement) || slices.Contains(o.succeeded, o.wanted.hash())
}

// runs reports whether a host booted an image. Digests are compared if both are known, because a tag may have been moved.
func runs(host *infrav1.ElementalHost, image, digest string) bool {
	booted := host.Status.OS
	if !slices.Contains(bootModes, booted.BootMode) {
		return false
	}
	if digest != "" && booted.Digest != "" {
		return digest == booted.Digest
	}
	return osversion.SameImage(booted.ImageURI, image)
}
