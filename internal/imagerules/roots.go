// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagerules

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get

// maxTrustedRoot is the maximum size of a trusted root, in bytes; sigstore's own has 7 KiB. Hosts accept answers of up to 2 MiB.
const maxTrustedRoot = 256 << 10

const (
	// rootLife is how long the result of a read is reused. It limits the load on the API server, because anyone with the token of a
	// registration can cause reads.
	rootLife = 5 * time.Second
	// readTimeout of one read.
	readTimeout = 5 * time.Second
)

// Roots adds trusted roots to the rules of hosts. They are not copied to ElementalHosts and not cached by informers, but read when
// they are needed; concurrent requests share one read. To be used by pointer.
type Roots struct {
	// Live reads past the cache.
	Live client.Reader
	// Clock is the time.
	Clock clock.PassiveClock

	reading singleflight.Group
	mu      sync.Mutex
	read    map[types.NamespacedName]trustedRoot
}

// trustedRoot is the content of a ConfigMap, or the reason why it cannot be used.
type trustedRoot struct {
	content json.RawMessage
	problem string
	// until is when it has to be read again.
	until time.Time
}

// Complete returns the rules of a host with the trusted root that they refer to. Its argument is shared and not modified. A
// root that is missing, forbidden or invalid is not an error; its reason is returned in its place, so that only hosts that need the
// root have to wait.
func (t *Roots) Complete(ctx context.Context, namespace string, asked *wire.ImageVerification) (*wire.ImageVerification, error) {
	if asked == nil || asked.TrustedRootRef == "" {
		return asked, nil
	}
	found, err := t.find(ctx, types.NamespacedName{Namespace: namespace, Name: asked.TrustedRootRef})
	if err != nil {
		return nil, err
	}
	completed := *asked
	completed.TrustedRoot, completed.TrustedRootError = found.content, found.problem
	return &completed, nil
}

// find returns a root that was read within rootLife, or reads it.
func (t *Roots) find(ctx context.Context, name types.NamespacedName) (trustedRoot, error) {
	if found, fresh := t.remembered(name); fresh {
		return found, nil
	}
	found, err := t.readOnce(ctx, name)
	if err != nil {
		return trustedRoot{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.read == nil {
		t.read = map[types.NamespacedName]trustedRoot{}
	}
	found.until = t.Clock.Now().Add(rootLife)
	t.read[name] = found
	return found, nil
}

// remembered drops expired entries, which bounds memory to the roots that were requested within rootLife.
func (t *Roots) remembered(name types.NamespacedName) (trustedRoot, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Clock.Now()
	maps.DeleteFunc(t.read, func(_ types.NamespacedName, each trustedRoot) bool { return !now.Before(each.until) })
	found, fresh := t.read[name]
	return found, fresh
}

// readOnce is not cancelled with its first caller, because others wait for the same result.
func (t *Roots) readOnce(ctx context.Context, name types.NamespacedName) (trustedRoot, error) {
	found, err, _ := t.reading.Do(name.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		if reasons := validation.IsDNS1123Subdomain(name.Name); len(reasons) > 0 {
			return trustedRoot{problem: fmt.Sprintf("trustedRootRef.name %.100q is not a valid name of a ConfigMap", name.Name)}, nil
		}
		config := &corev1.ConfigMap{}
		err := t.Live.Get(ctx, name, config)
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

// rootIn rejects content that would make the answer invalid or too large. Hosts validate the trusted root itself.
func rootIn(name types.NamespacedName, config *corev1.ConfigMap) trustedRoot {
	content, found := config.Data[infrav1.TrustedRootKey]
	const remedy = `put sigstore's trusted root there, as "cosign trusted-root create --with-default-services" writes it`
	switch {
	case !found:
		return trustedRoot{problem: fmt.Sprintf("ConfigMap %s has no key %s: %s", name, infrav1.TrustedRootKey, remedy)}
	case len(content) > maxTrustedRoot:
		return trustedRoot{problem: fmt.Sprintf("key %s of ConfigMap %s has %d bytes, at most %d are read: %s",
			infrav1.TrustedRootKey, name, len(content), maxTrustedRoot, remedy)}
	case !json.Valid([]byte(content)):
		return trustedRoot{problem: fmt.Sprintf("key %s of ConfigMap %s is not JSON: %s", infrav1.TrustedRootKey, name, remedy)}
	}
	return trustedRoot{content: json.RawMessage(content)}
}
