// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// NewManager creates a manager with indexes. It serves nothing except webhooks, if they are installed.
func (s *Server) NewManager(indexes ...func(context.Context, client.FieldIndexer) error) manager.Manager {
	GinkgoHelper()
	unnamed := true
	options := manager.Options{
		Scheme:                 s.Scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller: config.Controller{
			SkipNameValidation: &unnamed,
			// The priority queue can keep a manager from stopping on a busy machine:
			// https://github.com/kubernetes-sigs/controller-runtime/issues/3538, fixed in v0.25. It must not hide other
			// causes of that.
			UsePriorityQueue: ptr.To(false),
		},
	}
	if install := s.environment.WebhookInstallOptions; len(install.Paths) > 0 {
		options.WebhookServer = webhook.NewServer(webhook.Options{
			Host: install.LocalServingHost, Port: install.LocalServingPort, CertDir: install.LocalServingCertDir,
		})
	}
	mgr, err := ctrl.NewManager(s.Config, options)
	Expect(err).NotTo(HaveOccurred())
	for _, add := range indexes {
		Expect(add(context.Background(), mgr.GetFieldIndexer())).To(Succeed())
	}
	return mgr
}

// Run starts a manager, which stops when the calling node is cleaned up, and waits until its cache has synced and its webhooks, if they
// are installed, are served.
func (s *Server) Run(mgr manager.Manager) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- mgr.Start(ctx)
	}()
	DeferCleanup(func() error {
		cancel()
		return <-ended
	})
	Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue(), "its cache syncs")
	if len(s.environment.WebhookInstallOptions.Paths) > 0 {
		Eventually(func() error { return mgr.GetWebhookServer().StartedChecker()(nil) }).Should(Succeed())
	}
}
