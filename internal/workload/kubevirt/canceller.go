// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Canceller makes KubeVirt forget that an instance is to leave a Node.
type Canceller func(ctx context.Context, instance client.ObjectKey, node string) error

// NewCanceller calls the subresource evacuate/cancel, which KubeVirt serves since 1.7. A client cannot: the group of the
// subresources has no kinds. Nor can the mark be patched away: KubeVirt lets nobody else write the status.
func NewCanceller(config *rest.Config) Canceller {
	return func(ctx context.Context, instance client.ObjectKey, node string) error {
		config := rest.CopyConfig(config)
		config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		config.ContentType = "application/json"
		caller, err := rest.UnversionedRESTClientFor(config)
		if err != nil {
			return fmt.Errorf("preparing to call KubeVirt's API: %w", err)
		}
		body, err := json.Marshal(kubevirtv1.EvacuateCancelOptions{EvacuationNodeName: node})
		if err != nil {
			return fmt.Errorf("preparing to cancel an evacuation: %w", err)
		}
		return caller.Put().
			AbsPath("/apis", kubevirtv1.SubresourceGroupName, kubevirtv1.ApiLatestVersion, "namespaces", instance.Namespace,
				"virtualmachineinstances", instance.Name, "evacuate", "cancel").
			Body(body).Do(ctx).Error()
	}
}
