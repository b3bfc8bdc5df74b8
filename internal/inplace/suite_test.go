// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	ctx = context.Background()
	c   client.Client
)

func TestInPlace(t *testing.T) {
	specs.Run(t, "In place")
}

var _ = BeforeSuite(func() {
	plane := apiserver.StartForSuite()
	c = plane.Client
})
