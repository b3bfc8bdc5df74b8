// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imageuri

import "regexp"

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// IsDigest reports whether a text is the digest of a manifest, sha256:<64 hex digits>.
func IsDigest(text string) bool { return digestPattern.MatchString(text) }
