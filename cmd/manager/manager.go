// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	goruntime "runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/scheme"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/version"
)

const (
	managerName      = "cluster-api-elemental-manager"
	leaderElectionID = "controller-leader-election-elemental"
	// gracefulShutdown is how long all that runs has to end after a signal. The lease is released after that, which takes less
	// than is left until kubelet kills the process: see terminationGracePeriodSeconds in config/manager.
	gracefulShutdown = 20 * time.Second
)

// newManager makes the manager with everything that runs in it.
func newManager(ctx context.Context, o *options) (ctrl.Manager, error) {
	config, err := restConfig(o)
	if err != nil {
		return nil, err
	}
	if o.contention {
		goruntime.SetBlockProfileRate(1)
	}
	tlsOptions, metricsOptions, err := flags.GetManagerOptions(o.manager)
	if err != nil {
		return nil, fmt.Errorf("reading the TLS and diagnostics flags: %w", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme.New(),
		Metrics:                       *metricsOptions,
		WebhookServer:                 newWebhookServer(o, tlsOptions),
		HealthProbeBindAddress:        o.healthAddress,
		PprofBindAddress:              o.profilerAddress,
		LeaderElection:                o.leaderElection,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       o.leaseNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.leaseDuration,
		RenewDeadline:                 &o.renewDeadline,
		RetryPeriod:                   &o.retryPeriod,
		GracefulShutdownTimeout:       ptr.To(gracefulShutdown),
		Cache:                         cacheOptions(o),
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor:   []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}},
			Unstructured: true,
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	return mgr, setUp(ctx, mgr, tlsOptions, o)
}

func restConfig(o *options) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the management cluster: %w", err)
	}
	config.QPS, config.Burst = o.kubeAPIQPS, o.kubeAPIBurst
	config.UserAgent = managerName + "/" + version.Version
	return config, nil
}

// newWebhookServer serves the webhooks, which the API server calls.
func newWebhookServer(o *options, tlsOptions []func(*tls.Config)) webhook.Server {
	return webhook.NewServer(webhook.Options{
		Port: o.webhookPort, CertDir: o.webhookCertDir, CertName: o.webhookCertName, KeyName: o.webhookKeyName, TLSOpts: tlsOptions,
	})
}

// cacheOptions keep of all Secrets only those of clusters, which hold the kubeconfigs, and no plan of Rancher, which has that label too.
func cacheOptions(o *options) cache.Options {
	ofClusters, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	utilruntime.Must(err) // a constant label
	noPlan, err := labels.NewRequirement(rancher.MachineNameLabel, selection.DoesNotExist, nil)
	utilruntime.Must(err)
	options := cache.Options{
		SyncPeriod:       &o.syncPeriod,
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Label: labels.NewSelector().Add(*ofClusters, *noPlan)},
		},
	}
	if o.namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{o.namespace: {}}
	}
	return options
}
