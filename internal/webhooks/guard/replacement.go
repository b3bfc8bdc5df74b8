// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// checkReplacement denies a change of an owner's template reference, by any client, if Cluster API would replace Machines for
// it. Rotating a template or changing a variable or a class does not express the intent to reset hosts, and it cannot be
// stopped later: with a surge or without the extension no hook is called.
func (g *Guard) checkReplacement(ctx context.Context, after owner.Owner) error {
	if owner.TemplateName(after) == "" {
		return nil
	}
	doing := fmt.Sprintf("checking whether the Machines of %s would be replaced", owner.Describe(after))
	namespace := after.Object().GetNamespace()
	problems, err := g.prove(ctx, namespace, after)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if len(problems) == 0 {
		return nil
	}
	options, where, err := owner.ClusterOptions(ctx, g.Owners.Live, namespace, after.ClusterName())
	if apierrors.IsNotFound(err) { // a Cluster that does not exist yet has no Machines
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if options.WithDefaults().Replacement == infrav1.ReplacementAllow {
		return nil
	}
	return denied(after, "its Machines would be replaced and their hosts reset, instead of updated in place. "+inplace.Messages(problems)+
		howToChange(after)+". Or let Machines be replaced by replacement: Allow in "+where)
}

// prove checks the preconditions for in-place updates, with the template that is referred to now. A template that does not
// exist yet, because a tool may apply it later, changes no Machine.
func (g *Guard) prove(ctx context.Context, namespace string, after owner.Owner) ([]inplace.Problem, error) {
	template, err := existing.Get(ctx, g.Owners.Live, &infrav1.ElementalMachineTemplate{}, namespace, owner.TemplateName(after))
	if err != nil {
		return nil, err
	}
	prover := &inplace.Prover{Live: g.Owners.Live, Owners: g.Owners}
	return prover.ProveReference(ctx, namespace, template, after)
}

// howToChange describes where to change the fields that the remedies name.
func howToChange(after owner.Owner) string {
	if !owner.IsTopologyOwned(after) {
		return ""
	}
	return ". What belongs to the topology is changed in the ClusterClass or in the Cluster's spec.topology"
}
