// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
)

// Patience is how long a spec waits for what has to happen. No spec has a shorter bound.
const Patience = process.Patience

// Timeout is the environment variable of Gomega that replaces Patience where a spec names no bound, such as "60s". It does not shorten
// what specs wait for on a lab.
const Timeout = "GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT"

// Run runs the specs of the package of t, under a name.
func Run(t *testing.T, name string) {
	t.Helper()
	gomega.RegisterFailHandler(ginkgo.Fail)
	gomega.EnforceDefaultTimeoutsWhenUsingContexts() // otherwise an Eventually that is given a context waits for ever
	if os.Getenv(Timeout) == "" {
		gomega.SetDefaultEventuallyTimeout(Patience)
	}
	ginkgo.RunSpecs(t, name)
}

// Root is the folder of the repository.
func Root() string {
	ginkgo.GinkgoHelper()
	root, err := repository.Root()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return root
}
