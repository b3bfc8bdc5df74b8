// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/scheme"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rke2"
)

func (l *Lab) startManagementCluster(ctx context.Context) error {
	dir, err := l.dir("management")
	if err != nil {
		return err
	}
	options := kube.Options{
		Name: "management", Dir: dir, Binaries: filepath.Dir(l.options.tool("etcd")),
		Controllers: []string{"garbage-collector-controller", "namespace-controller"}, Died: l.died,
		Address: l.options.PodsReach,
	}
	if l.options.SelfHosted {
		options.Controllers, options.Pods, options.PodStages = workloadControllers(), true, l.options.manifest("kwok-stages.yaml")
	}
	if l.options.PodsReach != "" {
		options.Controllers, options.Pods = podControllers(), true
	}
	l.Management, err = kube.Start(ctx, options)
	if err != nil {
		return err
	}
	l.meter.add(l.Management)
	config, err := l.Management.RESTConfig("lab")
	if err != nil {
		return err
	}
	if l.Kube, err = client.NewWithWatch(config, client.Options{Scheme: scheme.New()}); err != nil {
		return fmt.Errorf("making the client of the management cluster: %w", err)
	}
	if _, err := l.Management.WriteKubeconfig("admin"); err != nil {
		return err
	}
	if l.options.SelfHosted {
		l.Workload, l.WorkloadKube = l.Management, l.Kube
	}
	l.env = capi.Env{Management: l.Management, Client: l.Kube, Dir: dir, Died: l.died}
	l.progress("management API server ready")
	return nil
}

// install calls Options.Install, if it is set.
func (l *Lab) install(ctx context.Context) error {
	if l.options.Install == nil {
		return nil
	}
	if err := l.options.Install(ctx, l); err != nil {
		return fmt.Errorf("installing into the management cluster: %w", err)
	}
	l.progress("providers installed")
	return nil
}

// prepareProviders installs the CRDs of all providers.
func (l *Lab) prepareProviders(ctx context.Context) error {
	if err := l.newProviders(); err != nil {
		return err
	}
	for _, provider := range l.providers() {
		if err := provider.Prepare(ctx, l.env); err != nil {
			return err
		}
		if !slices.Contains(l.Managers, provider) {
			if err := l.announce(ctx, provider); err != nil {
				return err
			}
		}
	}
	return nil
}

// startProviders installs the CRDs of all providers before it starts any of them, because the
// managers wait for one another's CRDs.
func (l *Lab) startProviders(ctx context.Context) error {
	if l.options.PodsReach != "" {
		return l.installControlPlaneStandIn(ctx)
	}
	if err := l.prepareProviders(ctx); err != nil {
		return err
	}
	if err := l.installControlPlaneStandIn(ctx); err != nil {
		return err
	}
	if err := l.installRancher(ctx); err != nil {
		return err
	}
	if err := l.CreateNamespace(ctx, ManagerNamespace); err != nil {
		return err
	}
	starting, ctx := errgroup.WithContext(ctx)
	for _, provider := range l.providers() {
		starting.Go(func() error {
			if err := provider.Start(ctx, l.env); err != nil {
				return err
			}
			l.progress("%s ready", provider.Name)
			return nil
		})
	}
	return starting.Wait()
}

// StartProvider starts our manager on a lab that was started WithoutProvider, as when it is installed later. Cluster API's managers do not
// reach its hooks.
func (l *Lab) StartProvider(ctx context.Context) error {
	if err := l.newManagers(); err != nil {
		return err
	}
	for _, manager := range l.Managers {
		if err := manager.Prepare(ctx, l.env); err != nil {
			return err
		}
		if err := manager.Start(ctx, l.env); err != nil {
			return err
		}
		l.progress("%s ready", manager.Name)
	}
	return nil
}

// announce makes a manager of Cluster API run with the feature gates of its Deployment.
func (l *Lab) announce(ctx context.Context, provider *capi.Provider) error {
	if l.options.Install != nil {
		return provider.AdoptGates(ctx, l.Kube)
	}
	return provider.Announce(ctx, l.Kube)
}

func (l *Lab) providers() []*capi.Provider {
	return slices.Concat([]*capi.Provider{l.Core, l.Bootstrap, l.ControlPlane}, l.RKE2, l.Managers)
}

func (l *Lab) newProviders() error {
	newClusterAPI := func(name, manifest string) *capi.Provider {
		return &capi.Provider{
			Name: name, Binary: l.options.tool(name), Manifests: []string{l.options.manifest(manifest)},
			Args: []string{"--feature-gates=" + l.options.gates(name), "--diagnostics-address=0", "--leader-elect=false", "--v=2"},
		}
	}
	l.Core = newClusterAPI(core, "core.yaml")
	l.Bootstrap = newClusterAPI(bootstrap, "bootstrap-kubeadm.yaml")
	l.ControlPlane = newClusterAPI(controlPlane, "control-plane-kubeadm.yaml")
	if err := l.newRKE2(); err != nil {
		return err
	}
	if l.options.WithoutProvider {
		return nil
	}
	if err := l.newManagers(); err != nil {
		return err
	}
	for _, caller := range append([]*capi.Provider{l.Core, l.ControlPlane}, l.callersOfRKE2()...) {
		caller.Args = append(caller.Args, l.clientArgs()...)
	}
	l.meterManagers()
	return l.nameServices()
}

func (l *Lab) newRKE2() (err error) {
	if l.options.RKE2 {
		l.RKE2, err = rke2.Providers(l.env.Dir, l.options.gates(caprke2))
	}
	return err
}

// callersOfRKE2 is the manager of CAPRKE2 that calls hooks.
func (l *Lab) callersOfRKE2() []*capi.Provider {
	if !l.options.RKE2 {
		return nil
	}
	return l.RKE2[len(l.RKE2)-1:]
}

func (l *Lab) registerExtension(ctx context.Context) error {
	if l.options.WithoutExtension || l.options.WithoutProvider || l.options.PodsReach != "" {
		return nil
	}
	if err := capi.Register(ctx, l.env, l.hooksPort()); err != nil {
		return err
	}
	l.progress("runtime extension discovered")
	return nil
}
