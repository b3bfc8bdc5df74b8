// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// OrderFile is the name of the marker of an image order in the work directory.
const OrderFile = "prefetch.json"

// newOrders returns the machine of the image orders of a host. An order is an attempt that is prepared and never triggered, with a marker of its own.
func newOrders(attempts *Machine) (*Machine, error) {
	marker, err := readMarker(attempts.WorkDir, OrderFile)
	if err != nil {
		return nil, fmt.Errorf("reading the marker of the image order: %w", err)
	}
	orders := &Machine{Options: attempts.Options, file: OrderFile, marker: marker, known: attempts.known}
	orders.Images = keeping{Images: attempts.Options.Images, also: attempts.holds}
	orders.Policy.ProgressInterval = 0
	orders.tell = func(marker Marker) { attempts.Reporter.Prefetch(marker.prefetch()) }
	orders.tell(marker)
	return orders, nil
}

func (m *Machine) isOrders() bool { return m.orders == nil }

// Fetch carries out an image order; nil if there is none. Closing newer interrupts it. What has failed is returned, and tried again by the next
// call.
func (m *Machine) Fetch(ctx context.Context, order *wire.Prefetch, newer <-chan struct{}) error {
	orders := m.orders
	marker := orders.Marker()
	if marker.Phase == wire.PhaseFailed {
		marker.Phase = wire.PhaseFetching // and the message stays until the outcome of this try
		if err := orders.save(marker); err != nil && !errors.Is(err, syscall.EROFS) {
			return err
		}
	}
	if err := orders.Advance(ctx, orderedAttempt(order), newer); err != nil {
		return err
	}
	if marker = orders.Marker(); marker.Phase == wire.PhaseFailed {
		return fmt.Errorf("fetching image %s in advance: %s", marker.ImageURI, marker.Message)
	}
	return nil
}

// orderedAttempt returns an order as an attempt without a trigger.
func orderedAttempt(order *wire.Prefetch) *wire.Upgrade {
	if order == nil {
		return nil
	}
	version, _ := json.Marshal(wire.OSVersion{ImageURI: order.ImageURI, UpgradeRecovery: order.UpgradeRecovery}) // a string and booleans
	return &wire.Upgrade{
		Attempt: order.ID, Digest: order.Digest, ImageVerification: order.ImageVerification,
		OSVersionManagement: map[string]json.RawMessage{osVersionKey: version},
	}
}

// prefetch is the marker of an order as it is reported; nil if there is none.
func (m Marker) prefetch() *wire.PrefetchStatus {
	if m.Attempt == "" {
		return nil
	}
	return &wire.PrefetchStatus{ID: m.Attempt, Digest: m.Digest, Phase: m.Phase, Message: m.Message}
}

// fetchedByOrder returns the image of an attempt if it was fetched for an order, by the same digest, and has passed the attempt's rules.
func (m *Machine) fetchedByOrder(want *wire.Upgrade, uri string) (image.Image, bool) {
	if m.isOrders() {
		return image.Image{}, false
	}
	marker := m.orders.Marker()
	found := marker.Phase == wire.PhaseFetched && marker.ImageURI == uri && want.Digest != "" && marker.Digest == want.Digest && hasPassed(marker, want)
	return image.Image{URI: uri, Digest: marker.Digest, Bytes: marker.ImageBytes}, found
}

// holds returns the digest of the image that a machine needs; empty if it needs none.
func (m *Machine) holds() string {
	if marker := m.Marker(); !marker.Finished() {
		return marker.Digest
	}
	return ""
}

// keeping are Images of which those that the other machine needs are not dropped.
type keeping struct {
	Images
	also func() string
}

// Drop removes all images but those with the given digests, and the one that the other machine needs.
func (k keeping) Drop(keep ...string) error { return k.Images.Drop(append(keep, k.also())...) }
