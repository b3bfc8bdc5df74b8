// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Stop stops a virtual machine by the subresource that virtctl uses. KubeVirt changes its run strategy if that is what
// keeps it stopped.
func Stop(ctx context.Context, config *rest.Config, key client.ObjectKey) error {
	return call(ctx, config, "virtualmachines", key, "stop", kubevirtv1.StopOptions{})
}

// Start starts a virtual machine by the corresponding subresource.
func Start(ctx context.Context, config *rest.Config, key client.ObjectKey) error {
	return call(ctx, config, "virtualmachines", key, "start", kubevirtv1.StartOptions{})
}

// CancelEvacuation removes the mark of an eviction from a guest, as `virtctl evacuate-cancel` does. A running migration
// continues.
func CancelEvacuation(ctx context.Context, config *rest.Config, key client.ObjectKey, node string) error {
	return call(ctx, config, "virtualmachineinstances", key, "evacuate/cancel", kubevirtv1.EvacuateCancelOptions{EvacuationNodeName: node})
}

func call(ctx context.Context, config *rest.Config, resource string, key client.ObjectKey, verb string, options any) error {
	made, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("reaching the cluster of %s: %w", key, err)
	}
	body, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("encoding what %s is asked for: %w", key, err)
	}
	path := fmt.Sprintf("/apis/subresources.kubevirt.io/v1/namespaces/%s/%s/%s/%s", key.Namespace, resource, key.Name, verb)
	err = made.RESTClient().Verb(http.MethodPut).AbsPath(path).Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("asking for %s of %s: %w", verb, key, err)
	}
	return nil
}
