// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Defaults of a kubelet.
// Source: KubeletConfiguration nodeStatusUpdateFrequency, nodeStatusReportFrequency,
// nodeLeaseDurationSeconds and what the kubelet derives from them.
const (
	DefaultHeartbeat   = 10 * time.Second
	statusReportEvery  = 5 * time.Minute
	leaseSeconds       = 40
	requestTimeout     = 10 * time.Second
	retryRegistration  = time.Second
	reasonReady        = "KubeletReady"
	reasonNotReady     = "KubeletNotReady"
	messageReady       = "kubelet is posting ready status"
	messageShutingDown = "node is shutting down"
)

// Options of a Writer.
type Options struct {
	// Config reaches the workload cluster.
	Config *rest.Config
	// Address is the InternalIP of the Node. Default is a loopback address derived from its name.
	Address string
	// Heartbeat is how often the Lease is renewed. Default DefaultHeartbeat.
	Heartbeat time.Duration
	// Allocatable of the Node. Default Allocatable().
	Allocatable corev1.ResourceList
	// Labels and Annotations of the Node besides those it registers with.
	Labels, Annotations map[string]string
	// Clock is the clock to use. Default is the real one.
	Clock clock.WithTicker
}

// Boot is what a kubelet reports of the boot it runs in.
type Boot struct {
	Join           Join
	BootID         string
	MachineID      string
	OSImage        string
	KubeletVersion string
	// ControlPlane is nil on a worker.
	ControlPlane *ControlPlane

	// port of the kubelet's server; 0 if it has none.
	port int32
}

// Writer writes the Node and the Lease of one host.
type Writer struct {
	opts   Options
	client kubernetes.Interface
}

// New returns a Writer for a workload cluster.
func New(o Options) (*Writer, error) {
	if o.Heartbeat == 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.Allocatable == nil {
		o.Allocatable = Allocatable()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	config := rest.CopyConfig(o.Config)
	config.Timeout = requestTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the workload cluster: %w", err)
	}
	return &Writer{opts: o, client: client}, nil
}

// Address is the address of a Node's host.
func (w *Writer) Address(node string) string { return w.address(node) }

// Register creates the Node if it does not exist, and reports the boot in its status.
func (w *Writer) Register(ctx context.Context, b Boot) error {
	_, err := w.client.CoreV1().Nodes().Create(ctx, w.node(b.Join.clone()), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("registering node %s: %w", b.Join.NodeName, err)
	}
	return w.report(ctx, b, true)
}

// Run runs a kubelet until ctx ends: it registers the Node, renews its Lease, and keeps its status up to
// date, as well as that of Pods which were set to not Ready. Errors are retried.
func (w *Writer) Run(ctx context.Context, b Boot) {
	running := sync.WaitGroup{}
	defer running.Wait()
	if b.ControlPlane != nil {
		if err := w.serve(ctx, &b); err != nil {
			return // the Node is not Ready then
		}
		running.Go(func() { w.keepStaticPods(ctx, b) })
	}
	w.keepNode(ctx, b)
}

// keepNode registers the Node and keeps it until ctx ends.
func (w *Writer) keepNode(ctx context.Context, b Boot) {
	err := wait.PollUntilContextCancel(ctx, retryRegistration, true, func(ctx context.Context) (bool, error) {
		return w.Register(ctx, b) == nil && w.renew(ctx, b.Join.NodeName) == nil, nil
	})
	if err != nil {
		return
	}
	_ = w.resume(ctx, b.Join.NodeName)
	ticker := w.opts.Clock.NewTicker(w.opts.Heartbeat)
	defer ticker.Stop()
	reported := w.opts.Clock.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		_ = w.renew(ctx, b.Join.NodeName)
		_ = w.resume(ctx, b.Join.NodeName)
		due := w.opts.Clock.Since(reported) >= statusReportEvery
		if err := w.report(ctx, b, due); err == nil && due {
			reported = w.opts.Clock.Now()
		}
	}
}

// ShutDown reports a graceful shutdown of the host: the last thing that its kubelet does.
func (w *Writer) ShutDown(ctx context.Context, name string) error {
	ready := w.condition(corev1.NodeReady, corev1.ConditionFalse, reasonNotReady, messageShutingDown)
	err := w.updateStatus(ctx, name, func(status *corev1.NodeStatus) bool {
		setCondition(status, ready)
		return true
	})
	if err != nil {
		return fmt.Errorf("shutting down node %s: %w", name, err)
	}
	return w.stopStaticPods(ctx, name)
}
