// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// StartForSuite starts a Server in a BeforeSuite, and stops it when the suite has ended. Logs go to the spec's
// output.
func StartForSuite(webhooks ...string) *Server {
	GinkgoHelper()
	log.SetLogger(GinkgoLogr)
	server, err := Start(webhooks...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Stop)
	return server
}
