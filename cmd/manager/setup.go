// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/setup"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/cluster"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machine"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machine/predrain"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/machinetemplate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/rancherdrain"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/registration"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/hooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/extensionserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/kubeconfig"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/metrics"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks/guard"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks/request"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
)

// setUp adds everything to the manager.
func setUp(ctx context.Context, mgr ctrl.Manager, tlsOptions []func(*tls.Config), o *options) error {
	if err := clusterview.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	kubeconfigs, err := newKubeconfigs(mgr)
	if err != nil {
		return err
	}
	workloads, err := newClusterCache(ctx, mgr, kubeconfigs, o)
	if err != nil {
		return err
	}
	drains, err := newDrains(ctx, mgr, o)
	if err != nil {
		return err
	}
	owners := &owner.Owners{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}}
	// One for all: it remembers what clusters do not have.
	ahead := &outlook.Viewer{
		Client: mgr.GetClient(), Workload: workload.NewConnector(workloads, mgr.GetClient(), residents()...),
		Namespaces: &inplace.Prover{Live: mgr.GetAPIReader(), Owners: owners}, Now: clock.RealClock{}.Now,
	}
	for _, add := range []func() error{
		func() error { return addControllers(ctx, mgr, workloads, kubeconfigs, drains, owners, ahead, o) },
		func() error { return addWebhooks(mgr, owners, ahead) },
		func() error { return addHooks(mgr, owners, ahead, tlsOptions, o) },
		func() error { return addHostAPI(mgr, tlsOptions, o) },
		func() error { return addMetrics(mgr) },
		func() error { return addChecks(mgr) },
	} {
		if err := add(); err != nil {
			return err
		}
	}
	return nil
}

// residents are what on nodes an upgrade cares for besides Pods, in the order in which that is done.
func residents() []workload.Resident {
	return []workload.Resident{kubevirt.Resident{}, longhorn.Resident{}}
}

// newKubeconfigs reads the kubeconfigs of workload clusters. Nothing else in the manager may read one: it would not be
// checked.
func newKubeconfigs(mgr ctrl.Manager) (client.Reader, error) {
	secrets, err := setup.CreateSecretCachingClient(mgr)
	if err != nil {
		return nil, fmt.Errorf("making the client that reads kubeconfigs: %w", err)
	}
	return kubeconfig.NewReader(secrets), nil
}

// newDrains has the metadata of Rancher's plan secrets. The cache of all other objects leaves these Secrets out.
func newDrains(ctx context.Context, mgr ctrl.Manager, o *options) (cache.Cache, error) {
	caching := rancher.CacheOptions(o.namespace)
	caching.Scheme, caching.Mapper, caching.HTTPClient, caching.SyncPeriod = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient(), &o.syncPeriod
	drains, err := cache.New(mgr.GetConfig(), caching)
	if err != nil {
		return nil, fmt.Errorf("making the cache of Rancher's plan secrets: %w", err)
	}
	if err := rancher.AddIndex(ctx, drains); err != nil {
		return nil, err
	}
	return drains, mgr.Add(drains)
}

func newClusterCache(ctx context.Context, mgr ctrl.Manager, kubeconfigs client.Reader, o *options) (clustercache.ClusterCache, error) {
	caching := setup.ClusterCacheCacheOptions()
	caching.ByObject = map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: clusterview.TrimNode}}
	clients := setup.ClusterCacheClientOptions(managerName, o.clusterQPS, o.clusterBurst)
	clients.Timeout = workload.CallTimeout
	workloads, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient:     kubeconfigs,
		Cache:            caching,
		Client:           clients,
		WatchFilterValue: o.watchFilter,
	}, controller.Options{MaxConcurrentReconciles: o.workers()})
	if err != nil {
		return nil, fmt.Errorf("making the cache of workload clusters: %w", err)
	}
	return workloads, nil
}

// reconciler is a controller that can be added to the manager.
type reconciler interface {
	SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error
}

func addControllers(
	ctx context.Context, mgr ctrl.Manager, workloads clustercache.ClusterCache, kubeconfigs client.Reader, drains cache.Cache,
	owners *owner.Owners, ahead *outlook.Viewer, o *options,
) error {
	if _, err := o.apiCABundle(); err != nil {
		return err
	}
	kube, connector := mgr.GetClient(), ahead.Workload
	for _, add := range []reconciler{
		&cluster.Reconciler{Client: kube, Kubeconfigs: kubeconfigs, Recorder: mgr.GetEventRecorder("elementalcluster"), WatchFilterValue: o.watchFilter},
		&host.Reconciler{Client: kube, APIReader: mgr.GetAPIReader(), Workload: connector, WatchFilterValue: o.watchFilter},
		&registration.Reconciler{Client: kube, APIReader: mgr.GetAPIReader(), Endpoint: o.endpointURL(), CACert: o.apiCABundle, WatchFilterValue: o.watchFilter},
		&machine.Reconciler{Client: kube, APIReader: mgr.GetAPIReader(), ClusterCache: workloads, WatchFilterValue: o.watchFilter},
		&predrain.Reconciler{
			Client: kube, Workload: connector, Clusters: workloads,
			Recorder: mgr.GetEventRecorder("predrain"), Clock: clock.RealClock{}, WatchFilterValue: o.watchFilter,
		},
		&hostupgrade.Reconciler{
			Client: kube, APIReader: mgr.GetAPIReader(), Workload: connector, Drains: drains, Clusters: workloads,
			Owners: wantedByOwners{}, Namespaces: &inplace.Prover{Live: mgr.GetAPIReader(), Owners: owners}, Recorder: mgr.GetEventRecorder("elementalhostupgrade"),
			Started: time.Now(), Self: workload.SelfOf(os.Getenv), Clock: clock.RealClock{}, Soak: o.soak, WatchFilter: o.watchFilter,
		},
		&clusterupgrade.Reconciler{
			Client: kube, APIReader: mgr.GetAPIReader(), Workload: connector, Recorder: mgr.GetEventRecorder("elementalclusterupgrade"),
			Clock: clock.RealClock{}, WatchFilter: o.watchFilter,
			KubeVirt: func(live client.Client, version string) clusterupgrade.KubeVirt {
				return kubevirt.Upgrade{Live: live, Version: version}
			},
		},
		&rancherdrain.Reconciler{
			Client: kube, Live: mgr.GetAPIReader(), Drains: drains, Recorder: mgr.GetEventRecorder("rancherdrain"), WatchFilter: o.watchFilter,
		},
	} {
		if err := add.SetupWithManager(ctx, mgr, o.limits()); err != nil {
			return err
		}
	}
	templates := &machinetemplate.Reconciler{
		Client: kube, Live: mgr.GetAPIReader(), Owners: owners,
		Recorder: mgr.GetEventRecorder("elementalmachinetemplate"), WatchFilter: o.watchFilter,
	}
	return templates.SetupWithManager(mgr, o.limits())
}

// wantedByOwners tells the upgrade controller what owners want, in its terms.
type wantedByOwners struct{}

func (wantedByOwners) Wanted(ctx context.Context, reader client.Reader, machine *clusterv1.Machine) (*hostupgrade.WantedOS, string, error) {
	want, found, err := owner.WantsOS(ctx, reader, machine)
	if err != nil || !found {
		return nil, want.Unknown(machine), err
	}
	return &hostupgrade.WantedOS{TemplateName: want.TemplateName, OSVersionHash: osversion.Hash(want.OSVersionManagement)}, "", nil
}

func addWebhooks(mgr ctrl.Manager, owners *owner.Owners, ahead *outlook.Viewer) error {
	if err := webhooks.SetupWithManager(mgr); err != nil {
		return err
	}
	guarding := &guard.Guard{Owners: owners}
	if err := guarding.SetupWithManager(mgr); err != nil {
		return err
	}
	requests := &request.Validator{Client: mgr.GetClient(), Outlook: ahead}
	upgrades := &request.UpgradeValidator{Templates: requests}
	return errors.Join(requests.SetupWithManager(mgr), upgrades.SetupWithManager(mgr))
}

func addHooks(mgr ctrl.Manager, owners *owner.Owners, ahead *outlook.Viewer, tlsOptions []func(*tls.Config), o *options) error {
	server, err := extensionserver.New(extensionserver.Options{
		Port: o.extensionPort, CertDir: o.extensionCertDir, TLSOpts: tlsOptions,
		ClientCAFile: o.extensionClientCAFile, ClientNames: o.extensionClientNames,
	})
	if err != nil {
		return err
	}
	err = hooks.Register(server.Server, &hooks.Handlers{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespaces: &inplace.Prover{Live: mgr.GetAPIReader(), Owners: owners},
		Owners: owners, Outlook: ahead, Recorder: mgr.GetEventRecorder("elemental-runtime-extension"),
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("adding the runtime extension: %w", err)
	}
	return mgr.AddReadyzCheck("runtime-extension", server.Ready)
}

func addHostAPI(mgr ctrl.Manager, tlsOptions []func(*tls.Config), o *options) error {
	server, err := hostapi.New(hostapi.Options{
		Client:      mgr.GetClient(),
		APIReader:   mgr.GetAPIReader(),
		Cache:       mgr.GetCache(),
		Recorder:    mgr.GetEventRecorder("elemental-api"),
		Endpoint:    o.endpointURL(),
		CertDir:     o.apiCertDir,
		BindAddress: o.apiBindAddress,
		TLSOpts:     tlsOptions,
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("adding the Elemental API: %w", err)
	}
	return mgr.AddReadyzCheck("elemental-api", server.Ready)
}

func addMetrics(mgr ctrl.Manager) error {
	return metrics.Register(mgr, gauges()...)
}

// gauges are counted from the objects that there are.
func gauges() []metrics.Gauge {
	return slices.Concat(host.Gauges(), machine.Gauges(), hostupgrade.Gauges())
}

func addChecks(mgr ctrl.Manager) error {
	started := mgr.GetWebhookServer().StartedChecker()
	return errors.Join(
		mgr.AddReadyzCheck("webhook", started),
		mgr.AddHealthzCheck("webhook", started),
		mgr.AddReadyzCheck("cache", func(request *http.Request) error {
			if !mgr.GetCache().WaitForCacheSync(request.Context()) {
				return errors.New("the cache has not synced")
			}
			return nil
		}),
	)
}
