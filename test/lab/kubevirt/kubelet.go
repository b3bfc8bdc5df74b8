// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
)

// Kubelet simulates the kubelet and the virt-handler of a host that can run virtual machines. Both run from boot to
// shutdown, or until the power is cut.
type Kubelet struct {
	*kubelet.Writer
	kubevirt *KubeVirt
}

// Kubelet adds virt-handler to a host's kubelet, whose Node must have Devices.
func (k *KubeVirt) Kubelet(writer *kubelet.Writer) *Kubelet {
	return &Kubelet{Writer: writer, kubevirt: k}
}

// Run runs the kubelet and virt-handler until ctx ends.
func (k *Kubelet) Run(ctx context.Context, boot kubelet.Boot) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-k.kubevirt.playable:
		case <-ctx.Done():
			return
		}
		k.kubevirt.Hypervisor.Run(ctx, boot.Join.NodeName, boot.BootID)
	}()
	k.Writer.Run(ctx, boot)
	<-over
}

// Devices adds the resources that virt-handler's device plugins provide to those of a Node. Source: KubeVirt 1.7,
// pkg/virt-handler/device-manager.
func Devices(allocatable corev1.ResourceList) corev1.ResourceList {
	with := maps.Clone(allocatable)
	for _, device := range []corev1.ResourceName{"devices.kubevirt.io/kvm", "devices.kubevirt.io/tun", "devices.kubevirt.io/vhost-net"} {
		with[device] = resource.MustParse("1k")
	}
	return with
}
