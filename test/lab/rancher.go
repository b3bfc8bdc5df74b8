// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
)

// installRancher installs the kinds of Rancher, to which Cluster API's refer.
func (l *Lab) installRancher(ctx context.Context) error {
	if !l.options.Rancher {
		return nil
	}
	return rancher.Install(ctx, l.Kube)
}

// startRancher starts Rancher once the kinds of Cluster API are there.
func (l *Lab) startRancher(ctx context.Context) error {
	if !l.options.Rancher {
		return nil
	}
	config, err := l.Management.RESTConfig(rancher.User)
	if err != nil {
		return err
	}
	if l.Rancher, err = rancher.New(rancher.Options{Config: config, As: l.asRancher}); err != nil {
		return err
	}
	if err := l.Rancher.Start(ctx); err != nil {
		return err
	}
	l.progress("Rancher ready")
	return nil
}

func (l *Lab) stopRancher() {
	if l.Rancher != nil {
		_ = l.Rancher.Stop()
	}
}

// asRancher gives Rancher an account of its own in a workload cluster, so that audit logs tell it from those who have the same kubeconfig.
func (l *Lab) asRancher(kubeconfig *rest.Config) (*rest.Config, error) {
	clusters := []*kube.Cluster{l.Workload}
	for _, workload := range l.workloads {
		clusters = append(clusters, workload.Cluster)
	}
	at := slices.IndexFunc(clusters, func(cluster *kube.Cluster) bool { return cluster != nil && cluster.URL() == kubeconfig.Host })
	if at < 0 {
		return nil, fmt.Errorf("looking for the account of Rancher: no workload cluster is at %s", kubeconfig.Host)
	}
	return clusters[at].RESTConfig(rancher.User)
}
