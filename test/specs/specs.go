// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
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

// OS is an osVersionManagement as the API server would send it, with an osVersion in JSON.
func OS(osVersion string) infrav1.OSVersionManagement {
	management := infrav1.OSVersionManagement{}
	if err := json.Unmarshal([]byte(`{"osVersion":`+osVersion+`}`), &management); err != nil {
		panic(err)
	}
	return management
}
