// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// The key is that of RFC 8032's first test vector, the fingerprint what openssl makes of it.
func TestKeyFingerprint(t *testing.T) {
	const key = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"
	if got, want := wire.KeyFingerprint(key), "SHA256:BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k"; got != want {
		t.Errorf("the fingerprint is %s, want %s", got, want)
	}
	if got := wire.KeyFingerprint("no key"); got != "" {
		t.Errorf("what is no key has the fingerprint %q", got)
	}
}
