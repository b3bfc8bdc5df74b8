// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
)

const (
	// handlerTimeoutSeconds is how long Cluster API waits for an answer.
	handlerTimeoutSeconds = 10
	// answerTimeout is our own, shorter limit: our answer has more detail than Cluster API's timeout error.
	answerTimeout = 8 * time.Second
)

// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalclusters;elementalhosts;elementalmachines;elementalmachinetemplates;elementalrollouts,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhostupgrades,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Namespaces tells which namespaces have opted in to in-place updates.
type Namespaces interface {
	// NotOptedIn returns, from a live read, why a namespace has not opted in, and what to change; empty if it has.
	NotOptedIn(ctx context.Context, namespace string) (string, error)
}

// Handlers answer the hooks. They are stateless, because Cluster API may call any replica.
type Handlers struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server, before anything is begun or reported done.
	Live client.Reader
	// Namespaces tells which namespaces have opted in to in-place updates.
	Namespaces Namespaces
	// Owners determines what the owner of a Machine wants.
	Owners *owner.Owners
	// Outlook previews an upgrade of a cluster.
	Outlook *outlook.Viewer
	// Recorder tells the owners of refused changes why they were refused.
	Recorder events.EventRecorder
}

// Register adds the handlers to a runtime extension server, before that is started.
func Register(server *runtimeserver.Server, handlers *Handlers) error {
	for _, handler := range []runtimeserver.ExtensionHandler{
		{Hook: runtimehooksv1.CanUpdateMachine, Name: inplace.CanUpdateMachineHandler, HandlerFunc: handlers.CanUpdateMachine},
		{Hook: runtimehooksv1.CanUpdateMachineSet, Name: inplace.CanUpdateMachineSetHandler, HandlerFunc: handlers.CanUpdateMachineSet},
		{Hook: runtimehooksv1.UpdateMachine, Name: inplace.UpdateMachineHandler, HandlerFunc: handlers.UpdateMachine},
		{Hook: runtimehooksv1.DiscoverVariables, Name: inplace.DiscoverVariablesHandler, HandlerFunc: handlers.DiscoverVariables},
		{Hook: runtimehooksv1.GeneratePatches, Name: inplace.GeneratePatchesHandler, HandlerFunc: handlers.GeneratePatches},
		{Hook: runtimehooksv1.BeforeClusterUpgrade, Name: inplace.BeforeClusterUpgradeHandler, HandlerFunc: handlers.BeforeClusterUpgrade},
		{Hook: runtimehooksv1.BeforeControlPlaneUpgrade, Name: inplace.BeforeControlPlaneUpgradeHandler, HandlerFunc: handlers.BeforeControlPlaneUpgrade},
		{Hook: runtimehooksv1.BeforeWorkersUpgrade, Name: inplace.BeforeWorkersUpgradeHandler, HandlerFunc: handlers.BeforeWorkersUpgrade},
	} {
		handler.TimeoutSeconds = ptr.To[int32](handlerTimeoutSeconds)
		handler.FailurePolicy = ptr.To(runtimehooksv1.FailurePolicyFail)
		if err := server.AddExtensionHandler(handler); err != nil {
			return fmt.Errorf("adding the handler %s: %w", handler.Name, err)
		}
	}
	return nil
}
