// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
)

// Lab is a running lab.
type Lab struct {
	options Options
	began   time.Time

	// Management is the management cluster, Workload the one whose nodes are upgraded.
	Management, Workload *kube.Cluster
	// Kube and WorkloadKube are clients for them.
	Kube, WorkloadKube client.WithWatch
	// KubeVirt on the workload cluster; nil without Options.KubeVirt.
	KubeVirt *kubevirt.KubeVirt
	// Registry of OS images.
	Registry *image.Registry
	// Core, Bootstrap and ControlPlane are Cluster API's managers; Provider is ours.
	Core, Bootstrap, ControlPlane, Provider *capi.Provider
	// RKE2 are the managers of CAPRKE2, with Options.RKE2 only.
	RKE2 []*capi.Provider
	// Rancher that is played, with Options.Rancher only.
	Rancher *rancher.Rancher
	// Managers are the replicas of our manager; Provider is the first one.
	Managers []*capi.Provider

	mu       sync.Mutex
	failures []error

	hosts    []*Host
	env      capi.Env
	ports    []managerPorts
	services services
	meter    meter
	// workloads are the workload clusters besides the first.
	workloads []*Workload
	// self is what runs on a host of the lab; see HostOn.
	self selfHosted
}

// Start starts a lab. If it fails, it stops what it has started.
func Start(ctx context.Context, options Options) (*Lab, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	l := &Lab{options: options, began: time.Now()}
	if err := l.start(ctx); err != nil {
		l.Stop()
		return nil, fmt.Errorf("starting the lab in %s: %w", options.Dir, err)
	}
	return l, nil
}

func (l *Lab) start(ctx context.Context) error {
	l.progress("starting in %s", l.options.Dir)
	if _, err := os.Stat(l.options.tool("kube-apiserver")); err != nil {
		return errors.New("bin/tools is not built: run 'make tools lab-binaries'")
	}
	if err := l.startMeter(); err != nil {
		return err
	}
	planes, ctx := errgroup.WithContext(ctx)
	planes.Go(func() error { return l.startManagement(ctx) })
	planes.Go(func() error { return l.startWorkload(ctx) })
	planes.Go(func() error { return l.startRegistry() })
	return planes.Wait()
}

func (l *Lab) startManagement(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		l.startManagementCluster, l.install, l.startProviders, l.registerExtension, l.startRancher,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops all processes and removes the lab's files, unless Options.Dir was set.
func (l *Lab) Stop() {
	for _, host := range l.hosts {
		_ = host.Stop()
	}
	l.stopRancher()
	l.stopManagers()
	l.stopClusters()
	l.services.close()
	l.meter.close()
	if l.Registry != nil {
		_ = l.Registry.Close()
	}
	if l.options.temporary {
		_ = os.RemoveAll(l.options.Dir)
	}
}

func (l *Lab) stopManagers() {
	for _, provider := range slices.Concat(l.Managers, l.RKE2, []*capi.Provider{l.ControlPlane, l.Bootstrap, l.Core}) {
		if provider != nil && provider.Process != nil {
			provider.Process.Stop()
		}
	}
}

func (l *Lab) stopClusters() {
	if l.KubeVirt != nil {
		l.KubeVirt.Stop()
	}
	for _, workload := range l.workloads {
		if workload.KubeVirt != nil {
			workload.KubeVirt.Stop()
		}
		workload.Cluster.Stop()
	}
	for _, cluster := range []*kube.Cluster{l.Workload, l.Management} {
		if cluster != nil { // stopped twice if it is both
			cluster.Stop()
		}
	}
}

// Dir is where the lab keeps its files.
func (l *Lab) Dir() string { return l.options.Dir }

func (l *Lab) dir(name string) (string, error) {
	dir := filepath.Join(l.options.Dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making %s: %w", dir, err)
	}
	return dir, nil
}

// Err reports the processes of the lab that have exited unexpectedly, with the last lines of their logs; nil while all
// run. Processes that were stopped or killed on purpose are not included.
func (l *Lab) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.failures...)
}

func (l *Lab) died(failure error) {
	l.mu.Lock()
	l.failures = append(l.failures, failure)
	l.mu.Unlock()
	l.progress("%v", failure)
}

// progress logs a step with the time at which it was completed.
func (l *Lab) progress(format string, args ...any) {
	const tenth = 100 * time.Millisecond
	_, _ = fmt.Fprintf(l.options.Progress, "lab %6s  %s\n", time.Since(l.began).Round(tenth), fmt.Sprintf(format, args...))
}

// Root of the repository that the lab runs.
func (l *Lab) Root() string { return l.options.Root }
