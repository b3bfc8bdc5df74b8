// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/scheme"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

const (
	defaultProbePeriod   = 5 * time.Second
	defaultEvictionRetry = 5 * time.Second
	// firstRetry doubles with each failure until it is lastRetry.
	firstRetry, lastRetry = 5 * time.Millisecond, 30 * time.Second
	// workers of each controller: a drain keeps one for as long as it takes.
	workers = 10
)

//go:embed crds.yaml
var definitions []byte

// Options of a Rancher.
type Options struct {
	// Config for the management cluster, as User.
	Config *rest.Config
	// As exchanges the account of the kubeconfig of a workload cluster. Default: that of the kubeconfig.
	As func(workload *rest.Config) (*rest.Config, error)
	// ProbePeriod is how often the Secret of each machine is written. Default 5 s.
	ProbePeriod time.Duration
	// EvictionRetry is the time between two attempts to evict a Pod. Default 5 s.
	EvictionRetry time.Duration
}

// Rancher of a management cluster.
type Rancher struct {
	options Options
	kube    client.WithWatch

	mu   sync.Mutex
	stop func() error
	// former are the specs to which Revert goes back.
	former map[client.ObjectKey]ClusterSpec
}

// Install makes the API server serve Rancher's kinds.
func Install(ctx context.Context, kube client.Client) error {
	crds, err := capi.Parse(definitions)
	if err != nil {
		return fmt.Errorf("reading the CRDs of Rancher: %w", err)
	}
	for _, crd := range crds {
		if err := (capi.Manifests{crd}).Create(ctx, kube); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return capi.AwaitEstablished(ctx, kube, crds)
}

// New returns a Rancher that is stopped.
func New(options Options) (*Rancher, error) {
	options.ProbePeriod = cmp.Or(options.ProbePeriod, defaultProbePeriod)
	options.EvictionRetry = cmp.Or(options.EvictionRetry, defaultEvictionRetry)
	if options.As == nil {
		options.As = func(workload *rest.Config) (*rest.Config, error) { return workload, nil }
	}
	options.Config = rest.CopyConfig(options.Config)
	options.Config.QPS = -1
	kube, err := client.NewWithWatch(options.Config, client.Options{Scheme: scheme.New()})
	if err != nil {
		return nil, fmt.Errorf("making the client of Rancher: %w", err)
	}
	return &Rancher{options: options, kube: kube, former: map[client.ObjectKey]ClusterSpec{}}, nil
}

// Start lets it work until Stop, even if ctx ends.
func (r *Rancher) Start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		return errors.New("starting Rancher: it runs")
	}
	mgr, err := r.newManager()
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	r.stop = func() error {
		cancel()
		return <-ended
	}
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("starting Rancher: its cache did not sync")
	}
	return nil
}

// Stop ends its work, also in the middle of a drain, as when its Pod is gone. It can be started again.
func (r *Rancher) Stop() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop == nil {
		return nil
	}
	stop := r.stop
	r.stop = nil
	return stop()
}

func (r *Rancher) newManager() (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(r.options.Config, ctrl.Options{
		Scheme:                 scheme.New(),
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: ptr.To(true), UsePriorityQueue: ptr.To(false)},
		Client:                 client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager of Rancher: %w", err)
	}
	access := workloads{kube: mgr.GetClient(), as: r.options.As}
	for name, set := range map[string]func(string, ctrl.Manager) error{
		"clusters":     (&clusters{kube: mgr.GetClient()}).setUp,
		"bootstraps":   (&bootstraps{kube: mgr.GetClient()}).setUp,
		"planner":      (&planner{kube: mgr.GetClient(), live: mgr.GetAPIReader()}).setUp,
		"machinedrain": (&drainer{kube: mgr.GetClient(), live: mgr.GetAPIReader(), workloads: access, retry: r.options.EvictionRetry}).setUp,
		"agents":       (&agents{kube: mgr.GetClient(), live: mgr.GetAPIReader(), workloads: access, period: r.options.ProbePeriod}).setUp,
	} {
		if err := set(name, mgr); err != nil {
			return nil, fmt.Errorf("setting %s of Rancher up: %w", name, err)
		}
	}
	return mgr, nil
}

// many lets a controller work at several objects at once, and retry as Rancher's do.
func many() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	}
}
