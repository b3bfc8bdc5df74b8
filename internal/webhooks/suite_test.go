// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

func TestWebhooks(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Webhooks Suite")
}

var (
	server *apiserver.Server
	// person is somebody who may do everything, and is not the manager.
	person client.Client
	// warnings that the person got.
	warnings *recordedWarnings
)

type recordedWarnings struct{ texts []string }

func (w *recordedWarnings) HandleWarningHeader(_ int, _ string, text string) {
	w.texts = append(w.texts, text)
}

var _ = BeforeSuite(func() {
	var err error
	server, err = apiserver.Start(apiserver.KindWebhooks)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return server.Stop() })
	mgr, err := server.NewManager()
	Expect(err).NotTo(HaveOccurred())
	Expect(webhooks.SetupWithManager(mgr)).To(Succeed())
	stop, err := apiserver.Run(context.Background(), mgr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)

	warnings = &recordedWarnings{}
	config := rest.CopyConfig(server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "jane", Groups: []string{"system:masters"}}
	config.WarningHandler = warnings
	person, err = client.New(config, client.Options{Scheme: server.Scheme})
	Expect(err).NotTo(HaveOccurred())

	started := mgr.GetWebhookServer().StartedChecker()
	Eventually(func() error { return started(nil) }).Should(Succeed())
})
