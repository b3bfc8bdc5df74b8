// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// hosts finds hosts in the cache, and reads live only those missing there: registered at another replica, or milliseconds ago.
type hosts struct {
	cached client.Reader
	live   client.Reader
	misses flowcontrol.PassiveRateLimiter
}

func newHosts(cached, live client.Reader) *hosts {
	return &hosts{cached: cached, live: live, misses: flowcontrol.NewTokenBucketPassiveRateLimiter(missRate, missBurst)}
}

// get returns a host that must not be modified: it may belong to the cache. An unknown host is a failure with status 404.
func (h *hosts) get(ctx context.Context, key types.NamespacedName) (*infrav1.ElementalHost, error) {
	host, err := h.fromCache(ctx, key)
	if !apierrors.IsNotFound(err) {
		return host, err
	}
	// Anyone who can reach the port can get here, with a token that they signed for an invented host.
	if !h.misses.TryAccept() {
		return nil, refuseForNow("too many requests of unknown hosts")
	}
	return h.fromServer(ctx, key)
}

func (h *hosts) fromCache(ctx context.Context, key types.NamespacedName) (*infrav1.ElementalHost, error) {
	host := &infrav1.ElementalHost{}
	if err := h.cached.Get(ctx, key, host, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("finding ElementalHost %s in the cache: %w", key, err)
	}
	return host, nil
}

func (h *hosts) fromServer(ctx context.Context, key types.NamespacedName) (*infrav1.ElementalHost, error) {
	host := &infrav1.ElementalHost{}
	err := h.live.Get(ctx, key, host)
	if apierrors.IsNotFound(err) {
		return nil, refuseUnknown(key)
	}
	if err != nil {
		return nil, fmt.Errorf("reading ElementalHost %s: %w", key, err)
	}
	return host, nil
}

func refuseUnknown(key types.NamespacedName) *failure {
	return refuse(http.StatusNotFound, "host %s is not known in namespace %s: register it", key.Name, key.Namespace)
}
