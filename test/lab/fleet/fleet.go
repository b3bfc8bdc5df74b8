// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// Options of a Fleet.
type Options struct {
	// Dir for the identities of the hosts.
	Dir string
	// Config of the agents, as lab.AgentConfig returns it.
	Config []byte
	// Workload cluster that the hosts become Nodes of.
	Workload *rest.Config
	// Image that the hosts run first, and the kubelet's version in each image.
	Image, KubeletVersion string
}

// Fleet of simulated hosts.
type Fleet struct {
	options  Options
	settings config.Config
	nodes    *nodes

	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New returns a fleet without hosts. Close ends it.
func New(options Options) (*Fleet, error) {
	settings := config.Config{}
	if err := yaml.Unmarshal(options.Config, &settings); err != nil {
		return nil, fmt.Errorf("reading the configuration of the agents: %w", err)
	}
	workload := rest.CopyConfig(options.Workload)
	workload.QPS = -1 // every kubelet has its own rate limit
	kube, err := kubernetes.NewForConfig(workload)
	if err != nil {
		return nil, fmt.Errorf("reaching the workload cluster: %w", err)
	}
	f := &Fleet{options: options, settings: settings, nodes: newNodes(kube, options.KubeletVersion)}
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.running.Go(func() { f.nodes.renew(f.ctx) })
	return f, nil
}

// Close stops all hosts.
func (f *Fleet) Close() {
	f.stop()
	f.running.Wait()
}

// Add powers a host on, which registers.
func (f *Fleet) Add(name string) error {
	api, err := f.connect(name)
	if err != nil {
		return fmt.Errorf("making host %s: %w", name, err)
	}
	added := newHost(name, f.options.Image, api, f.nodes)
	f.running.Go(func() {
		defer api.Close()
		added.run(f.ctx)
	})
	return nil
}

// connect returns a client with its own identity and transport, like that of a separate process.
func (f *Fleet) connect(name string) (*client.Client, error) {
	workDir := filepath.Join(f.options.Dir, name)
	if err := os.MkdirAll(workDir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(workDir, identity.NameFile), []byte(name), 0o600); err != nil {
		return nil, err
	}
	own, err := identity.Load(system.NewHost(workDir), workDir, config.Hostname{})
	if err != nil {
		return nil, err
	}
	transport, err := client.NewTransport(f.settings)
	if err != nil {
		return nil, err
	}
	registration := f.settings.Registration
	return client.New(client.Options{
		URI: registration.URI, Token: registration.Token, Identity: own, Transport: transport, Clock: system.WallClock{}, UserAgent: "fleet",
	}), nil
}
