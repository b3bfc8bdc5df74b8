// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package ownertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Plane is an etcd and a kube-apiserver with the kinds of Cluster API and of this project.
type Plane struct {
	// Config with administrator's rights.
	Config *rest.Config
	// Client that reads and writes the API server itself.
	Client client.Client
	// Scheme of the kinds.
	Scheme *runtime.Scheme

	environment *envtest.Environment
}

// Start starts a Plane from the tools in bin/tools. With guarded, config/webhook/guard.yaml is installed
// and points to the webhook server of NewManager.
func Start(guarded bool) (*Plane, error) {
	root, err := moduleFolder(".", "")
	if err != nil {
		return nil, err
	}
	tools := filepath.Join(root, "bin", "tools")
	if _, err := os.Stat(filepath.Join(tools, "kube-apiserver")); err != nil {
		return nil, fmt.Errorf("kube-apiserver is missing, run \"make tools\": %w", err)
	}
	clusterAPI, err := moduleFolder(root, "sigs.k8s.io/cluster-api")
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), controlplanev1.AddToScheme(scheme),
		runtimev1.AddToScheme(scheme), infrav1.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("making scheme: %w", err)
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: tools,
		ErrorIfCRDPathMissing: true,
		CRDDirectoryPaths: []string{
			filepath.Join(root, "config", "crd", "bases"),
			filepath.Join(clusterAPI, "core", "config", "crd", "bases"),
			filepath.Join(clusterAPI, "controlplane", "kubeadm", "config", "crd", "bases"),
		},
	}
	if guarded {
		environment.WebhookInstallOptions.Paths = []string{filepath.Join(root, "config", "webhook", "guard.yaml")}
	}
	return start(environment, scheme)
}

func start(environment *envtest.Environment, scheme *runtime.Scheme) (*Plane, error) {
	restConfig, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("starting kube-apiserver: %w", errors.Join(err, environment.Stop()))
	}
	restConfig.QPS = -1
	direct, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making client: %w", errors.Join(err, environment.Stop()))
	}
	return &Plane{Config: restConfig, Client: direct, Scheme: scheme, environment: environment}, nil
}

// Stop ends the processes.
func (p *Plane) Stop() error {
	if p == nil {
		return nil
	}
	return p.environment.Stop()
}

// NewManager makes a manager that serves nothing but webhooks, where they are installed.
func (p *Plane) NewManager() (manager.Manager, error) {
	unnamed := true
	options := manager.Options{
		Scheme:                 p.Scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: &unnamed},
	}
	if install := p.environment.WebhookInstallOptions; len(install.Paths) > 0 {
		options.WebhookServer = webhook.NewServer(webhook.Options{
			Host: install.LocalServingHost, Port: install.LocalServingPort, CertDir: install.LocalServingCertDir,
		})
	}
	return ctrl.NewManager(p.Config, options)
}

// moduleFolder is where the files of a module are; without a name, of the main module.
func moduleFolder(from, module string) (string, error) {
	arguments := []string{"list", "-m", "-f", "{{.Dir}}"}
	if module != "" {
		arguments = append(arguments, module)
	}
	list := exec.Command("go", arguments...)
	list.Dir = from
	folder, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("finding module %q: %w", module, err)
	}
	return strings.TrimSpace(string(folder)), nil
}
