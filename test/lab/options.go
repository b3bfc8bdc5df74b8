// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
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

// Cluster API's managers, by their binaries.
const (
	core         = "capi-core"
	bootstrap    = "capi-cabpk"
	controlPlane = "capi-kcp"
)

// Options of a lab.
type Options struct {
	// Root of the repository, with bin/. Default: found from this file.
	Root string
	// Dir for all files of the lab. Default: a temporary folder, removed when the lab stops.
	Dir string
	// Progress is told what has been started. Default: nobody.
	Progress io.Writer

	// WithoutInPlaceUpdates leaves Cluster API's feature gate InPlaceUpdates off.
	WithoutInPlaceUpdates bool
	// WithoutExtension leaves out our ExtensionConfig.
	WithoutExtension bool
	// WithoutProvider leaves out our manager.
	WithoutProvider bool
	// WithoutWorkload leaves out the workload cluster.
	WithoutWorkload bool
	// WorkloadAccount has workload clusters reached as the account of config/workload, which may do what its role grants and
	// no more. Default: as an administrator.
	WorkloadAccount bool
	// KubeVirt puts KubeVirt on the workload clusters, for what 'make tools-kubevirt' has to have been run, and lets hosts
	// run virtual machines.
	KubeVirt bool
	// NodeSize is the allocatable of a Node. Default kubelet.Allocatable().
	NodeSize corev1.ResourceList
	// Managers is how many replicas of our manager run, one of them elected. Default one, without an election.
	Managers int
	// Install is called when the management cluster's API server is ready and no manager runs yet, to have something else
	// install the objects of providers there, as clusterctl does. Those of the lab are added to them, managers of Cluster API
	// have the feature gates of their Deployments, and find ours by the Service of its hooks. Default: nothing.
	Install func(ctx context.Context, l *Lab) error
	// Handover puts a balancer in front of the Elemental API of a single replica, too, so that another lab can take it
	// over.
	Handover bool
	// Succeeds is a lab with a Handover. Hosts are told its address of the Elemental API, where they find ours after
	// TakeOver, with a certificate of the authority that they know.
	Succeeds *Lab
	// Metered counts the bytes that our manager exchanges with API servers, see Lab.Traffic. It and Cluster API's managers find
	// workload clusters by a Service then.
	Metered bool
	// Soak is how long an upgraded node is watched. Default one second.
	Soak time.Duration

	// temporary says that nobody asked to keep Dir.
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
	if o.KubeVirt {
		o.NodeSize = kubevirt.Devices(o.NodeSize)
	}
	return nil
}

// gates are the feature gates of one of Cluster API's managers. Each is given those that its own components name, and
// waits for nothing between two tries.
func (o *Options) gates(manager string) string {
	const quick = "ReconcilerRateLimiting=false"
	inPlace := fmt.Sprintf("ClusterTopology=true,InPlaceUpdates=%t,%s", !o.WithoutInPlaceUpdates, quick)
	switch manager {
	case core:
		return "RuntimeSDK=true," + inPlace
	case controlPlane:
		return inPlace
	default:
		return quick
	}
}

// tool is a binary built by 'make tools'.
func (o *Options) tool(name string) string { return filepath.Join(o.Root, "bin", "tools", name) }

// manifest is a file rendered by 'make tools'.
func (o *Options) manifest(name string) string {
	return filepath.Join(o.Root, "bin", "manifests", name)
}
