// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagerules

import (
	"context"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagetrust"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
)

// Missing says why no identity could be verified that an image may be signed by; nothing where that is for the host to see. A host
// that has not begun waits for the trusted root, where a person has to look at one that has failed for the want of it.
func (t *Roots) Missing(ctx context.Context, namespace string, rules *infrav1.ImageVerification, imageURI string) (string, error) {
	asked := Convert(rules)
	if asked == nil || asked.TrustedRootRef == "" {
		return "", nil
	}
	asked, err := t.Complete(ctx, namespace, asked)
	if err != nil {
		return "", err
	}
	reference, err := imageuri.Parse(imageURI)
	if err != nil {
		return "", nil //nolint:nilerr // the host says what is wrong with it
	}
	rule, err := imagetrust.For(asked, reference.Context())
	if err != nil || rule == nil {
		return "", nil //nolint:nilerr // so it does with rules
	}
	return rule.Problem, nil
}
