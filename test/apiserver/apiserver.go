// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/scheme"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
)

// Server is an etcd and a kube-apiserver with this project's kinds and Cluster API's core kinds.
type Server struct {
	// Config with cluster administrator's permissions, without client-side throttling.
	Config *rest.Config
	// Client reads and writes the API server itself.
	Client client.WithWatch
	// Scheme of all kinds that the server knows.
	Scheme *runtime.Scheme

	environment *envtest.Environment
}

// Files in config/webhook that Start can install.
const (
	// KindWebhooks validate our own kinds.
	KindWebhooks = "manifests.yaml"
	// GuardWebhooks protect the owners of our templates.
	GuardWebhooks = "guard.yaml"
	// PreflightWebhooks check upgrade requests.
	PreflightWebhooks = "preflight.yaml"
)

// Start starts a Server from the tools in bin/tools, with our kinds and Cluster API's. Webhooks are files in
// config/webhook, which are configured to call the webhook server of the managers of NewManager.
func Start(webhooks ...string) (*Server, error) {
	root, err := repository.Root()
	if err != nil {
		return nil, err
	}
	tools := filepath.Join(root, "bin", "tools")
	if _, err := os.Stat(filepath.Join(tools, "kube-apiserver")); err != nil {
		return nil, fmt.Errorf("kube-apiserver is missing, run \"make tools\": %w", err)
	}
	clusterAPI, err := clusterAPI(root)
	if err != nil {
		return nil, err
	}
	// Otherwise a test would wait a second between two reconciles of one object.
	if err := feature.MutableGates.Set("ReconcilerRateLimiting=false"); err != nil {
		return nil, fmt.Errorf("switching rate limiting off: %w", err)
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: tools,
		// The default of 20 s is too short on a machine that runs many suites at once.
		ControlPlaneStartTimeout: 2 * time.Minute,
		ErrorIfCRDPathMissing:    true,
		CRDDirectoryPaths: []string{
			filepath.Join(root, "config", "crd", "bases"),
			filepath.Join(clusterAPI, "core", "config", "crd", "bases"),
			filepath.Join(clusterAPI, "controlplane", "kubeadm", "config", "crd", "bases"),
			filepath.Join(root, "internal", "rke2", "testdata"),
		},
	}
	for _, file := range webhooks {
		environment.WebhookInstallOptions.Paths = append(environment.WebhookInstallOptions.Paths, filepath.Join(root, "config", "webhook", file))
	}
	server, err := start(environment, scheme.New())
	if err != nil {
		return nil, err
	}
	if err := server.installPolicies(root); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

// installPolicies creates our ValidatingAdmissionPolicies, which need no webhook server. The API server enforces them a
// moment later.
func (s *Server) installPolicies(root string) error {
	files, err := filepath.Glob(filepath.Join(root, "config", "policy", "*.yaml"))
	if err != nil {
		return fmt.Errorf("looking for our policies: %w", err)
	}
	manifests, err := capi.Load(files...)
	if err != nil {
		return err
	}
	return manifests.Policies().Create(context.Background(), s.Client)
}

func start(environment *envtest.Environment, scheme *runtime.Scheme) (*Server, error) {
	restConfig, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("starting kube-apiserver: %w", errors.Join(err, environment.Stop()))
	}
	restConfig.QPS = -1
	direct, err := client.NewWithWatch(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making client: %w", errors.Join(err, environment.Stop()))
	}
	return &Server{Config: restConfig, Client: direct, Scheme: scheme, environment: environment}, nil
}

// Stop stops the processes and removes their files.
func (s *Server) Stop() error {
	if s == nil {
		return nil
	}
	return s.environment.Stop()
}

// clusterAPI is Cluster API's folder in the module cache.
func clusterAPI(root string) (string, error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api")
	list.Dir = root
	folder, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("finding the module of Cluster API: %w", err)
	}
	return strings.TrimSpace(string(folder)), nil
}
