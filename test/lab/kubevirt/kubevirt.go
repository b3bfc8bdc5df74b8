// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/hypervisor"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/pods"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

const (
	// Namespace of KubeVirt.
	Namespace = "kubevirt"
	// Name of the KubeVirt object.
	Name = "kubevirt"
	// Version of KubeVirt.
	Version = "v1.7.0"
	// NextVersion is the one that it can be upgraded to with Options.Operator.
	NextVersion = "v1.8.4"
)

// Options of a KubeVirt.
type Options struct {
	// Cluster to install it on, with kube-scheduler and kwok. kwok must not handle the Pods of
	// hypervisor.LauncherSelector.
	Cluster *kube.Cluster
	// Kube is a client for the cluster with KubeVirt's kinds in its scheme.
	Kube client.WithWatch
	// Dir for its files.
	Dir string
	// Operator runs the real virt-operator, which installs all else. It requires a cluster with kube.Options.PodNetwork, its
	// controllers for DaemonSets, Deployments, Jobs, EndpointSlices and the TTL of Nodes, and that kwok does not handle the Pods of
	// package pods either.
	Operator bool
	// Binaries is the folder with virt-api and virt-controller, and Manifests the one with what their generators wrote.
	Binaries, Manifests string
	// Died is called when a process exits unexpectedly.
	Died func(failure error)
}

// KubeVirt on a cluster.
type KubeVirt struct {
	options   Options
	manifests capi.Manifests
	api, main endpoint

	// API is virt-api and Controller virt-controller. Each can be killed, frozen and restarted. With Options.Operator they
	// are nil, and Pods are the processes.
	API, Controller *process.Process
	// Pods runs the Pods of virt-operator, virt-api and virt-controller; nil without Options.Operator.
	Pods *pods.Runner
	// Hypervisor simulates virt-handler and virt-launcher on the hosts. With Options.Operator it is started when the
	// operator has made KubeVirt's kinds.
	Hypervisor *hypervisor.Hypervisor

	// playable is closed when Hypervisor is set; stop ends waiting for that, and stopped is closed when it has ended.
	playable, stopped chan struct{}
	stop              context.CancelFunc
}

// Start installs KubeVirt and returns once virt-api serves and virt-controller leads. No node can run a
// virtual machine yet: see Kubelet. With Options.Operator it returns at once, because the operator's Pod needs a Node: see
// AwaitDeployed.
func Start(ctx context.Context, options Options) (*KubeVirt, error) {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	k := &KubeVirt{options: options, playable: make(chan struct{})}
	steps := []func(context.Context) error{
		k.load, k.installObjects, k.deploy, k.trust, k.startProcesses, k.installWebhooks, k.startHypervisor, k.awaitSubresources,
	}
	if options.Operator {
		steps = []func(context.Context) error{k.load, k.installOperator, k.createKubeVirt, k.startPods, k.awaitKinds}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			k.Stop()
			return nil, fmt.Errorf("starting KubeVirt: %w", err)
		}
	}
	return k, nil
}

// load reads the manifests and allocates ports.
func (k *KubeVirt) load(context.Context) error {
	if _, err := os.Stat(k.binary(virtAPI)); err != nil {
		return fmt.Errorf("%s is not built: run 'make tools-kubevirt'", virtAPI)
	}
	manifests, err := capi.Load(filepath.Join(k.options.Manifests, "kubevirt.yaml"))
	if err != nil {
		return err
	}
	k.manifests = manifests
	ports, err := process.Ports(2)
	if err != nil {
		return err
	}
	k.api, k.main = endpoint(ports[0]), endpoint(ports[1])
	return nil
}

// startHypervisor lets hosts run virtual machines.
func (k *KubeVirt) startHypervisor(ctx context.Context) error {
	handler, err := k.options.Cluster.UserRESTConfig(serviceAccount("kubevirt-handler"))
	if err != nil {
		return err
	}
	launchers, err := k.options.Cluster.RESTConfig("virt-launchers")
	if err != nil {
		return err
	}
	options := hypervisor.Options{Handler: handler, Kubelet: launchers, Log: k.path("hypervisor.log")}
	if k.options.Operator {
		options.HandlerOn = k.handlerOn
	}
	k.Hypervisor, err = hypervisor.Start(ctx, options)
	if err == nil {
		close(k.playable)
	}
	return err
}

// Stop stops all components.
func (k *KubeVirt) Stop() {
	if k.stop != nil {
		k.stop()
		<-k.stopped
	}
	if k.Pods != nil {
		k.Pods.Stop()
	}
	if k.Hypervisor != nil {
		k.Hypervisor.Stop()
	}
	for _, each := range []*process.Process{k.Controller, k.API} {
		if each != nil {
			each.Stop()
		}
	}
}

func (k *KubeVirt) path(name string) string { return filepath.Join(k.options.Dir, name) }

func (k *KubeVirt) binary(name string) string { return filepath.Join(k.options.Binaries, name) }

// serviceAccount is the user of a component of KubeVirt.
func serviceAccount(name string) string { return "system:serviceaccount:" + Namespace + ":" + name }
