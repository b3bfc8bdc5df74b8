// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Plane is an etcd and a kube-apiserver that knows the kinds the host API works with.
type Plane struct {
	// Config with administrator's rights, not throttled on the client's side.
	Config *rest.Config
	// Client that reads and writes the API server itself.
	Client client.Client
	// Scheme of the kinds.
	Scheme *runtime.Scheme

	environment *envtest.Environment
}

// StartPlane starts a Plane from the tools in bin/tools. Extra are flags of kube-apiserver, by name.
func StartPlane(extra map[string]string) (*Plane, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	tools := filepath.Join(root, "bin", "tools")
	if _, err := os.Stat(filepath.Join(tools, "kube-apiserver")); err != nil {
		return nil, fmt.Errorf("kube-apiserver is missing, run \"make tools\": %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), infrav1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("making scheme: %w", err)
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: tools,
		ErrorIfCRDPathMissing: true,
		CRDDirectoryPaths:     crds(root, "elementalhosts", "elementalregistrations"),
	}
	arguments := environment.ControlPlane.GetAPIServer().Configure()
	for flag, value := range extra {
		arguments.Set(flag, value)
	}
	return start(environment, scheme)
}

func start(environment *envtest.Environment, scheme *runtime.Scheme) (*Plane, error) {
	config, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("starting kube-apiserver: %w", errors.Join(err, environment.Stop()))
	}
	config.QPS = -1
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making client: %w", errors.Join(err, environment.Stop()))
	}
	return &Plane{Config: config, Client: direct, Scheme: scheme, environment: environment}, nil
}

// Stop ends the processes and removes their files.
func (p *Plane) Stop() error {
	if p == nil {
		return nil
	}
	return p.environment.Stop()
}

func crds(root string, plurals ...string) []string {
	files := make([]string, 0, len(plurals))
	for _, plural := range plurals {
		files = append(files, filepath.Join(root, "config", "crd", "bases", infrav1.GroupVersion.Group+"_"+plural+".yaml"))
	}
	return files
}

// repository finds the folder with go.mod, above the package whose test runs.
func repository() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("finding the repository: no go.mod above the working directory")
		}
		folder = parent
	}
}
