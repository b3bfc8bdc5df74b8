// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// bootModes in which a host runs an OS that was installed on it. After a fallback that is passive, and
// stays so until the next upgrade: going back to the former image is then done already.
var bootModes = []string{"active", "passive"}

// observation is all that an answer depends on.
type observation struct {
	host *infrav1.ElementalHost
	// attempt under the wanted key, nil if there is none.
	attempt *infrav1.ElementalHostUpgrade
	// unfinished is another attempt of the same Machine that has not ended.
	unfinished string
	// succeeded are the hashes of the OS versions that attempts of the Machine ended with.
	succeeded []string
	// pinned is the digest that the rollout resolved the image to, if it did.
	pinned string
}

// observe reads the host and the attempts of a Machine. Where there is no host it returns the answer.
func (h *Handlers) observe(ctx context.Context, wanted *wantedOS) (*observation, answer, error) {
	ref := wanted.elemental.Spec.HostRef
	if ref == nil {
		return nil, inProgress("Waiting for an ElementalHost to serve the Machine"), nil
	}
	host := &infrav1.ElementalHost{}
	key := client.ObjectKey{Namespace: cmp.Or(ref.Namespace, wanted.elemental.Namespace), Name: ref.Name}
	if err := h.Client.Get(ctx, key, host); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, inProgress(fmt.Sprintf("ElementalHost %s, which serves the Machine, does not exist", ref.Name)), nil
		}
		return nil, answer{}, fmt.Errorf("reading ElementalHost %s: %w", ref.Name, err)
	}
	if association.Replaced(host, wanted.elemental) {
		return nil, inProgress(fmt.Sprintf("ElementalHost %s was registered anew and is not known to be the host that serves the Machine", ref.Name)), nil
	}
	seen := &observation{host: host}
	if err := h.observeAttempts(ctx, wanted, seen); err != nil {
		return nil, answer{}, err
	}
	if err := h.observePin(ctx, wanted, seen); err != nil {
		return nil, answer{}, err
	}
	return seen, answer{}, nil
}

func (h *Handlers) observePin(ctx context.Context, wanted *wantedOS, seen *observation) error {
	if wanted.template() == "" {
		return nil
	}
	template := &infrav1.ElementalMachineTemplate{}
	key := client.ObjectKey{Namespace: wanted.elemental.Namespace, Name: wanted.template()}
	if err := h.Client.Get(ctx, key, template); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ElementalMachineTemplate %s: %w", key.Name, err)
	}
	seen.pinned = template.Annotations[infrav1.RolloutDigestAnnotation]
	return nil
}

func (h *Handlers) observeAttempts(ctx context.Context, wanted *wantedOS, seen *observation) error {
	list := &infrav1.ElementalHostUpgradeList{}
	err := h.Client.List(ctx, list, client.InNamespace(seen.host.Namespace),
		client.MatchingLabels{infrav1.MachineNameLabel: rollout.LabelValue(wanted.machine.Name)})
	if err != nil {
		return fmt.Errorf("listing ElementalHostUpgrades: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b infrav1.ElementalHostUpgrade) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list.Items {
		attempt := &list.Items[i]
		switch {
		case attempt.Name == wanted.upgradeName():
			seen.attempt = attempt
		case !attempt.Status.Phase.IsEnd() && seen.unfinished == "":
			seen.unfinished = attempt.Name
		case attempt.Status.Phase == infrav1.UpgradeSucceeded && attempt.Spec.HostName == seen.host.Name:
			seen.succeeded = append(seen.succeeded, attempt.Spec.OSVersionHash)
		}
	}
	return nil
}

// satisfies says whether the host, by itself, is what is wanted: booted into the image, and in nobody's
// hands.
func (o *observation) satisfies(wanted *wantedOS) bool {
	if o.host.Spec.Upgrade != nil || o.host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending {
		return false
	}
	if !runs(o.host, wanted.image(), o.pinned) {
		return false
	}
	return wanted.isImageOnly() || slices.Contains(o.succeeded, wanted.hash())
}

// runs says whether a host booted an image. Digests decide where both are known: a tag may have moved.
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
