// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hypervisor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Options of a Hypervisor.
type Options struct {
	// Handler is the configuration of a client with virt-handler's user and permissions.
	Handler *rest.Config
	// HandlerOn is that of virt-handler on a node, for what it writes to its Node. Default: Handler.
	HandlerOn func(node string) (*rest.Config, error)
	// Kubelet is that of a client for what a kubelet writes about the launchers' Pods.
	Kubelet *rest.Config
	// Log is the path of the log file.
	Log string
}

// Hypervisor simulates the hosts of a cluster.
type Hypervisor struct {
	handler, kubelet client.Client
	handlerOn        func(node string) (client.Client, error)
	reader           client.Reader
	log              *slog.Logger
	events           chan event.GenericEvent
	stop             context.CancelFunc
	stopped          chan struct{}

	mu sync.Mutex
	// boots are the boot IDs of the hosts that are up, by node.
	boots map[string]string
}

// Start starts it. It runs until Stop, even if ctx ends.
func Start(ctx context.Context, o Options) (*Hypervisor, error) {
	file, err := os.OpenFile(o.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of the hypervisor: %w", err)
	}
	h := &Hypervisor{
		log: slog.New(slog.NewTextHandler(file, nil)), boots: map[string]string{},
		events: make(chan event.GenericEvent, maxEvents), stopped: make(chan struct{}),
	}
	manager, err := h.newManager(o)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("making the hypervisor: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	ctrl.SetLogger(manager.GetLogger()) // keeps controller-runtime's log out of test output
	go func() {
		defer close(h.stopped)
		defer func() { _ = file.Close() }()
		if err := manager.Start(running); err != nil {
			h.log.Error("Ended", "error", err)
		}
	}()
	if !manager.GetCache().WaitForCacheSync(ctx) {
		stop()
		return nil, fmt.Errorf("waiting for the hypervisor to see its objects: it did not; see %s", o.Log)
	}
	return h, nil
}

// Stop stops it. The guests are not touched.
func (h *Hypervisor) Stop() {
	h.stop()
	<-h.stopped
}

func (h *Hypervisor) newManager(o Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, kubevirtv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	launchers, err := labels.Parse(LauncherSelector)
	if err != nil {
		return nil, err
	}
	manager, err := ctrl.NewManager(o.Kubelet, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Logger: logr.FromSlogHandler(h.log.Handler()),
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: launchers}}},
	})
	if err != nil {
		return nil, err
	}
	h.kubelet, h.reader = manager.GetClient(), manager.GetCache()
	if h.handler, err = client.New(o.Handler, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	h.handlerOn = func(node string) (client.Client, error) {
		if o.HandlerOn == nil {
			return h.handler, nil
		}
		config, err := o.HandlerOn(node)
		if err != nil {
			return nil, err
		}
		return client.New(config, client.Options{Scheme: scheme})
	}
	return manager, h.register(manager)
}

// Run runs virt-handler on a host in one boot, until ctx ends because the host goes down.
func (h *Hypervisor) Run(ctx context.Context, node, bootID string) {
	h.setBoot(node, bootID)
	defer h.setBoot(node, "")
	h.log.Info("Host is up", "node", node, "boot", bootID)
	defer h.log.Info("Host is down", "node", node)
	h.wake(ctx, node)
	ticker := time.NewTicker(retryHeartbeat)
	defer ticker.Stop()
	due := time.Time{}
	for {
		if now := time.Now(); !now.Before(due) {
			if err := h.beat(ctx, node); err == nil {
				due = now.Add(heartbeat)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (h *Hypervisor) setBoot(node, bootID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if bootID == "" {
		delete(h.boots, node)
		return
	}
	h.boots[node] = bootID
}

// boot ID of a host; empty while it is down.
func (h *Hypervisor) boot(node string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.boots[node]
}

func (h *Hypervisor) isUp(node string) bool { return h.boot(node) != "" }

// IsUp reports whether the host of a Node runs.
func (h *Hypervisor) IsUp(node string) bool { return h.isUp(node) }
