// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
)

// Names of the binaries of Cluster API's managers.
const (
	core         = "capi-core"
	bootstrap    = "capi-cabpk"
	controlPlane = "capi-kcp"
	// caprke2 stands for both managers of CAPRKE2.
	caprke2 = "caprke2"
)

// Options of a lab.
type Options struct {
	// Root of the repository, with bin/. Default: found from this file.
	Root string
	// Provider is the folder with bin/manager and config/ of the version of our manager that runs. Default: Root.
	Provider string
	// Dir for all files of the lab. Default: a temporary folder, removed when the lab stops.
	Dir string
	// Progress receives a line for each step of the start. Default: none.
	Progress io.Writer

	// WithoutInPlaceUpdates leaves Cluster API's feature gate InPlaceUpdates off.
	WithoutInPlaceUpdates bool
	// WithoutExtension leaves out our ExtensionConfig.
	WithoutExtension bool
	// WithoutProvider leaves out our manager. Lab.StartProvider starts it later.
	WithoutProvider bool
	// WithoutKwok leaves the Pods of workload clusters to real kubelets, which the suite starts: see kube.Options.Kubelets.
	WithoutKwok bool
	// WithoutWorkload leaves out the workload cluster.
	WithoutWorkload bool
	// SelfHosted makes the management cluster the workload cluster, too. Lab.HostOn then moves everything that runs in it
	// to a host.
	SelfHosted bool
	// WorkloadAccount connects workload clusters as the ServiceAccount of config/workload, limited to its role.
	// Default: as a cluster administrator.
	WorkloadAccount bool
	// KubeVirt installs KubeVirt on the workload clusters and lets hosts run virtual machines. It requires 'make
	// tools-kubevirt'.
	KubeVirt bool
	// VirtOperator installs KubeVirt by its real operator, which can be upgraded; it implies KubeVirt. KubeVirt is deployed
	// after the first Nodes have joined: see kubevirt.KubeVirt.AwaitDeployed. It requires 'make tools-kubevirt-operator' and
	// Linux.
	VirtOperator bool
	// RKE2 runs the managers of CAPRKE2, Cluster API's provider for RKE2, too. It requires rke2.Dir.
	RKE2 bool
	// Rancher plays Rancher in the management cluster; see package rancher.
	Rancher bool
	// NodeSize is the allocatable capacity of a Node. Default kubelet.Allocatable().
	NodeSize corev1.ResourceList
	// Managers is the number of replicas of our manager, which elect a leader. Default one, without leader election.
	Managers int
	// Install is called when the API server of the management cluster is ready and no manager runs yet, so that
	// something else, such as clusterctl, can install the providers. The lab adds its own objects to them, starts
	// Cluster API's managers with the feature gates of their Deployments, and makes them reach ours by the Service of
	// its hooks. Default: nothing.
	Install func(ctx context.Context, l *Lab) error
	// PodsReach is an address of this machine. If it is set, all managers run as Pods, on a Node that Install starts, and reach the
	// API servers there: the lab starts none. They can be moved into the workload cluster: see InWorkload.
	PodsReach string
	// Handover puts a load balancer in front of the Elemental API even with a single replica, so that another lab can
	// take over its address.
	Handover bool
	// Succeeds is a lab with Handover set. Hosts are given its address of the Elemental API, where they reach this lab
	// after TakeOver, and this lab serves a certificate of the same CA.
	Succeeds *Lab
	// Metered counts the bytes that our manager exchanges with API servers; see Lab.Traffic. All managers then find
	// workload clusters by a Service name.
	Metered bool
	// Soak is how long an upgraded node is observed before the next one. Default one second.
	Soak time.Duration

	// temporary is set if Dir is a temporary folder, to be removed with the lab.
	temporary bool
}

func (o *Options) complete() error {
	if o.Root == "" {
		root, err := repository.Root()
		if err != nil {
			return err
		}
		o.Root = root
	}
	o.Provider = cmp.Or(o.Provider, o.Root)
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "elemental-lab-")
		if err != nil {
			return fmt.Errorf("making the folder of the lab: %w", err)
		}
		o.Dir, o.temporary = dir, true
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Soak == 0 {
		o.Soak = time.Second
	}
	if o.NodeSize == nil {
		o.NodeSize = kubelet.Allocatable()
	}
	o.KubeVirt = o.KubeVirt || o.VirtOperator
	if o.KubeVirt {
		o.NodeSize = kubevirt.Devices(o.NodeSize)
	}
	return nil
}

// gates are the feature gates of one of Cluster API's managers: only those that it knows, because it exits on an
// unknown one. ReconcilerRateLimiting is off, so that retries are not delayed.
func (o *Options) gates(manager string) string {
	const quick = "ReconcilerRateLimiting=false"
	inPlace := fmt.Sprintf("ClusterTopology=true,InPlaceUpdates=%t,%s", !o.WithoutInPlaceUpdates, quick)
	switch manager {
	case core:
		return "RuntimeSDK=true," + inPlace
	case controlPlane, caprke2:
		return inPlace
	default:
		return quick
	}
}

// podStages is the file with kwok's stages for Pods; empty without kwok.
func (o *Options) podStages() string {
	if o.WithoutKwok {
		return ""
	}
	return o.manifest("kwok-stages.yaml")
}

// tool is a binary built by 'make tools'.
func (o *Options) tool(name string) string { return filepath.Join(o.Root, "bin", "tools", name) }

// manifest is a file rendered by 'make tools'.
func (o *Options) manifest(name string) string {
	return filepath.Join(o.Root, "bin", "manifests", name)
}
