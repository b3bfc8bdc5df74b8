// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// Provider is a manager with its manifests.
type Provider struct {
	// Name of the provider, also its user in the audit log.
	Name string
	// User in the audit log, if it is not the name: one of several replicas, which all share it, or a service account.
	User string
	// Binary of its manager.
	Binary string
	// Manifests are files with CRDs, webhook configurations, and the Deployment of a real cluster.
	Manifests []string
	// Args besides those that every manager gets.
	Args []string
	// Env is added to the environment.
	Env []string
	// Roles are files with the ClusterRoles that the manager's user is granted. If empty, it is a cluster
	// administrator.
	Roles []string

	// ByService makes the manager reach the API server by its Service name, which Env configures. See
	// kube.Cluster.ServiceName.
	ByService bool

	// Namespace of the namespaced Roles among them.
	Namespace string

	// WebhookPort and healthPort are chosen by Prepare, unless they are set.
	WebhookPort int
	// ServicePort is the port at which webhooks are called. Default WebhookPort.
	ServicePort int
	healthPort  int
	loaded      Manifests
	// Process of the manager.
	Process *process.Process
}

// Env is the environment that providers run in.
type Env struct {
	// Management cluster.
	Management *kube.Cluster
	// Client for it.
	Client client.Client
	// Dir for files of the providers.
	Dir string
	// Died is called when a manager exits unexpectedly.
	Died func(failure error)
}

// Prepare creates the provider's CRDs, which other providers may wait for, and its policies, which do not call a
// webhook.
func (p *Provider) Prepare(ctx context.Context, env Env) error {
	ports, err := process.Ports(2)
	if err != nil {
		return err
	}
	p.WebhookPort, p.healthPort = cmp.Or(p.WebhookPort, ports[0]), ports[1]
	p.ServicePort = cmp.Or(p.ServicePort, p.WebhookPort)
	if p.loaded, err = Load(p.Manifests...); err != nil {
		return err
	}
	if err := p.loaded.OnLoopback(p.ServicePort, env.Management.Authority().CertPEM); err != nil {
		return err
	}
	crds := p.loaded.CRDs()
	if err := crds.Create(ctx, env.Client); err != nil {
		return fmt.Errorf("installing %s: %w", p.Name, err)
	}
	if err := AwaitEstablished(ctx, env.Client, crds); err != nil {
		return err
	}
	return p.loaded.Policies().Create(ctx, env.Client)
}

// Start starts the manager, waits until it is ready, and only then registers its webhooks.
func (p *Provider) Start(ctx context.Context, env Env) error {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	certs, err := p.certificates(env)
	if err != nil {
		return err
	}
	kubeconfig, err := p.kubeconfig(ctx, env)
	if err != nil {
		return err
	}
	args := append([]string{
		"--kubeconfig=" + kubeconfig,
		fmt.Sprintf("--webhook-port=%d", p.WebhookPort),
		"--webhook-cert-dir=" + certs,
		fmt.Sprintf("--health-addr=127.0.0.1:%d", p.healthPort),
	}, p.Args...)
	if err := p.nameServer(kubeconfig, env); err != nil {
		return err
	}
	p.Process, err = process.Start(process.Spec{Name: p.Name, Path: p.Binary, Args: args, Env: p.Env, LogDir: env.Dir, Died: env.Died})
	if err != nil {
		return err
	}
	if err := p.AwaitReady(ctx); err != nil {
		return err
	}
	return p.loaded.Webhooks().Create(ctx, env.Client)
}

func (p *Provider) nameServer(kubeconfig string, env Env) error {
	if !p.ByService {
		return nil
	}
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of %s: %w", p.Name, err)
	}
	return os.WriteFile(kubeconfig, env.Management.ByService(content), 0o600)
}

// AwaitReady waits until the manager reports ready.
func (p *Provider) AwaitReady(ctx context.Context) error {
	return p.Process.AwaitOK(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", p.healthPort), nil)
}

// CertDir is the directory of the provider's serving certificate.
func (p *Provider) CertDir(env Env) string { return filepath.Join(env.Dir, p.Name+"-tls") }

func (p *Provider) certificates(env Env) (string, error) {
	authority := env.Management.Authority()
	pair, err := authority.Server(p.Name)
	if err != nil {
		return "", err
	}
	return p.CertDir(env), authority.WriteServing(p.CertDir(env), pair)
}
