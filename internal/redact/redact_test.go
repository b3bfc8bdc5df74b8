// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/redact"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestRedact(t *testing.T) {
	specs.Run(t, "Redact Suite")
}

var _ = DescribeTable("Text", func(text, expected string) {
	Expect(redact.Text(text)).To(Equal(expected))
},
	Entry("nothing", "ElementalHost h has not booted: no disk", "ElementalHost h has not booted: no disk"),
	Entry("an image", "oci://registry.example.com/os:v1@sha256:12", "oci://registry.example.com/os:v1@sha256:12"),
	Entry("an image with credentials", "oci://user:hunter2@registry.example.com/os:v1", "ociREMOVEDregistry.example.com/os:v1"),
	Entry("a header", "X: Bearer abcdefgh.123", "X: REMOVED"),
	Entry("a JWT", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.c2ln!", "got REMOVED!"),
	Entry("a password in JSON", `{"password":"hunter2","user":"u"}`, `{"REMOVED,"user":"u"}`),
	Entry("a private key", "a -----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY----- b", "a REMOVED b"),
	Entry("a private key that is cut off", "-----BEGIN PRIVATE KEY-----\nhunter2", "REMOVED"),
)
