// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagerules is imageVerification as hosts are told of it: in the words of the wire, and with the trusted root that it
// refers to. The API of hosts answers with it, and the upgrade controller looks at it before it asks a host for anything.
package imagerules
