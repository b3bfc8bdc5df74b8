// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// pin is a digest with the image that was resolved to it.
type pin struct {
	Image  string `json:"imageUri"`
	Digest string `json:"digest"`
}

// Pin is the value of the annotation that pins the hosts of a cluster's upgrade to the digest which its image was resolved to.
func Pin(image, digest string) string {
	encoded, _ := json.Marshal(pin{Image: image, Digest: digest}) // strings alone
	return string(encoded)
}

// PinnedDigest is the digest of a Pin. It is empty if the pin is for another image, or names none, as those of development versions: the
// content of what carries the pin may have been changed since, and the digest would give hosts another OS than they are asked for.
func PinnedDigest(value, image string) string {
	found := pin{}
	if err := json.Unmarshal([]byte(value), &found); err != nil || found.Image == "" || !osversion.SameImage(found.Image, image) {
		return ""
	}
	return found.Digest
}
