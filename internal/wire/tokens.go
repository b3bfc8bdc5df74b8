// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "time"

const (
	// RegistrationHeader carries "Bearer <registration token>".
	RegistrationHeader = "Registration-Authorization"
	// HostHeader carries "Bearer <host token>".
	HostHeader = "Authorization"

	// HostTokenLifetime is how long a host token is valid. Its subject is the host's name, its audience the registration URI.
	HostTokenLifetime = time.Minute
	// ClockSkew that is tolerated between a host and the API.
	ClockSkew = 2 * time.Minute

	// MaxWait is the maximum time of a long poll.
	MaxWait = 10 * time.Minute
	// MaxBody is the maximum size of a request body, in bytes.
	MaxBody = 64 << 10
)

// Claims of both tokens: signed with EdDSA (Ed25519); iss is not used; exp, sub and aud are required.
//
//	registration token: sub = aud = registration URI
//	host token:         sub = host name, aud = registration URI
