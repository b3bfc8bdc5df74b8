// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get

// maxTrustedRoot is how large a trusted root may be, in bytes; sigstore's own has 7 KiB. Hosts read answers of 2 MiB.
const maxTrustedRoot = 256 << 10

// trustedRoots puts trusted roots into what hosts are told. They are in no ElementalHost and in no cache, and read when an answer is
// sent; hosts that come at once share one read, so that a burst of them is one request of the API server.
type trustedRoots struct {
	live    client.Reader
	reading singleflight.Group
}

// trustedRoot is what lies in a ConfigMap, or why nothing of use does.
type trustedRoot struct {
	content json.RawMessage
	problem string
}

// complete returns what a host is told of whose signature images need, with the root that it refers to. What it is given is others'
// too. A root that is missing or unusable is for the host to say when it needs it: it is told everything else.
func (t *trustedRoots) complete(ctx context.Context, namespace string, asked *wire.ImageVerification) (*wire.ImageVerification, error) {
	if asked == nil || asked.TrustedRootRef == "" {
		return asked, nil
	}
	found, err := t.read(ctx, types.NamespacedName{Namespace: namespace, Name: asked.TrustedRootRef})
	if err != nil {
		return nil, err
	}
	completed := *asked
	completed.TrustedRoot, completed.TrustedRootError = found.content, found.problem
	return &completed, nil
}

// completeDesired is complete for what is asked of a host. The revision stays that of the ElementalHost alone.
func (t *trustedRoots) completeDesired(ctx context.Context, namespace string, desired wire.Desired) (wire.Desired, error) {
	if desired.Upgrade == nil {
		return desired, nil
	}
	verification, err := t.complete(ctx, namespace, desired.Upgrade.ImageVerification)
	if err != nil {
		return wire.Desired{}, err
	}
	upgrade := *desired.Upgrade
	upgrade.ImageVerification = verification
	desired.Upgrade = &upgrade
	return desired, nil
}

// read does not end with the caller who asks first, for others wait for the same answer.
func (t *trustedRoots) read(ctx context.Context, name types.NamespacedName) (trustedRoot, error) {
	found, err, _ := t.reading.Do(name.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		config := &corev1.ConfigMap{}
		err := t.live.Get(ctx, name, config)
		switch {
		case apierrors.IsNotFound(err):
			return trustedRoot{problem: fmt.Sprintf("there is no ConfigMap %s, which trustedRootRef names: create it with sigstore's trusted root "+
				"under the key %s", name, infrav1.TrustedRootKey)}, nil
		case apierrors.IsForbidden(err):
			return trustedRoot{problem: fmt.Sprintf("the manager may not read ConfigMap %s, which trustedRootRef names: give its account the "+
				"right to get configmaps", name)}, nil
		case err != nil:
			return trustedRoot{}, fmt.Errorf("reading ConfigMap %s: %w", name, err)
		}
		return rootIn(name, config), nil
	})
	if err != nil {
		return trustedRoot{}, err
	}
	return found.(trustedRoot), nil
}

// rootIn refuses what would make the answer invalid or huge. Whether it is a trusted root is for the host to find out.
func rootIn(name types.NamespacedName, config *corev1.ConfigMap) trustedRoot {
	content, found := config.Data[infrav1.TrustedRootKey]
	const remedy = `put sigstore's trusted root there, as "cosign trusted-root create" writes it`
	switch {
	case !found:
		return trustedRoot{problem: fmt.Sprintf("ConfigMap %s has no key %s: %s", name, infrav1.TrustedRootKey, remedy)}
	case len(content) > maxTrustedRoot:
		return trustedRoot{problem: fmt.Sprintf("key %s of ConfigMap %s has %d bytes, at most %d are read: %s",
			infrav1.TrustedRootKey, name, len(content), maxTrustedRoot, remedy)}
	case !json.Valid([]byte(content)):
		return trustedRoot{problem: fmt.Sprintf("key %s of ConfigMap %s is no JSON: %s", infrav1.TrustedRootKey, name, remedy)}
	}
	return trustedRoot{content: json.RawMessage(content)}
}
