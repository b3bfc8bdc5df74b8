// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package deniedkey

import (
	"slices"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

// Find returns the entry of a PEM-encoded key; nil if the registration does not deny it.
func Find(registration *infrav1.ElementalRegistration, pubKey string) *infrav1.DeniedKey {
	denied := registration.Spec.DeniedKeys
	at := slices.IndexFunc(denied, func(one infrav1.DeniedKey) bool { return token.SameKey(one.PubKey, pubKey) })
	if at < 0 {
		return nil
	}
	return &denied[at]
}

// Add denies a key and reports whether there was room. If the list is full, the oldest entry whose host is known to have been wiped is
// removed: its key no longer exists. Removing any other entry would admit its host again.
func Add(registration *infrav1.ElementalRegistration, entry infrav1.DeniedKey) bool {
	denied := registration.Spec.DeniedKeys
	if len(denied) >= infrav1.MaxDeniedKeys {
		wiped := slices.IndexFunc(denied, func(one infrav1.DeniedKey) bool { return one.Reset == infrav1.DeniedKeyResetDone })
		if wiped < 0 {
			return false
		}
		denied = slices.Delete(slices.Clone(denied), wiped, wiped+1)
	}
	registration.Spec.DeniedKeys = append(denied, entry)
	return true
}
