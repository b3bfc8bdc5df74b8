// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Values of label kubevirt.io of the Pods that are run.
const (
	Operator   = "virt-operator"
	API        = "virt-api"
	Controller = "virt-controller"
	// Strategy is of the Job that writes what an operator installs into a ConfigMap.
	Strategy = "virt-operator-strategy-dumper"
	// Handler has no process: package hypervisor simulates it.
	Handler = "virt-handler"
)

// look is how often the Pods are read.
const look = 200 * time.Millisecond

// handlerIP is of all Pods of virt-handler, which nothing connects to.
const handlerIP = "10.0.0.1"

// Options of a Runner.
type Options struct {
	// Kube is a client of an administrator.
	Kube client.Client
	// Namespace of the Pods.
	Namespace string
	// Dir for the files and logs of the processes.
	Dir string
	// Binary is the path of a command's binary, by the tag of its image.
	Binary func(command, tag string) (path string, err error)
	// Kubeconfig writes the kubeconfig of a ServiceAccount.
	Kubeconfig func(serviceAccount string) (path string, err error)
	// IsUp reports whether the host of a Node runs.
	IsUp func(node string) bool
	// Died is called when a process exits unexpectedly. That of a Job may.
	Died func(failure error)
}

// Runner runs Pods.
type Runner struct {
	options  Options
	selector labels.Selector
	log      *slog.Logger
	close    func() error
	stop     context.CancelFunc
	stopped  chan struct{}

	mu      sync.Mutex
	running map[types.UID]*container
}

// Selector selects the Pods that are run, and those with one of the additional values of label kubevirt.io.
func Selector(additional ...string) (labels.Selector, error) {
	values := append([]string{Operator, API, Controller, Strategy, Handler}, additional...)
	requirement, err := labels.NewRequirement(kubevirtv1.AppLabel, selection.In, values)
	if err != nil {
		return nil, err
	}
	return labels.NewSelector().Add(*requirement), nil
}

// Start starts a Runner. It runs until Stop, even if ctx ends.
func Start(ctx context.Context, options Options) (*Runner, error) {
	selector, err := Selector()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(options.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the Pods: %w", err)
	}
	file, err := os.OpenFile(options.Dir+"/pods.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of the Pods: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &Runner{
		options: options, selector: selector, log: slog.New(slog.NewTextHandler(file, nil)), close: file.Close,
		stop: stop, stopped: make(chan struct{}), running: map[types.UID]*container{},
	}
	go r.run(running)
	return r, nil
}

// Stop ends all processes. The Pods are not touched.
func (r *Runner) Stop() {
	r.stop()
	<-r.stopped
}

// Images of the processes of a component that run, sorted.
func (r *Runner) Images(component string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	images := []string{}
	for _, c := range r.running {
		if c.component == component && !c.hasExited() {
			images = append(images, c.image)
		}
	}
	slices.Sort(images)
	return images
}

func (r *Runner) run(ctx context.Context) {
	defer close(r.stopped)
	defer func() { _ = r.close() }()
	defer r.endAll()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		r.sync(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// sync does the next step of each Pod, oldest first.
func (r *Runner) sync(ctx context.Context) {
	list := &corev1.PodList{}
	err := r.options.Kube.List(ctx, list, client.InNamespace(r.options.Namespace), client.MatchingLabelsSelector{Selector: r.selector})
	if err != nil {
		return
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	r.endMissing(list.Items)
	for i := range list.Items {
		pod := &list.Items[i]
		if err := r.play(ctx, pod); client.IgnoreNotFound(err) != nil {
			r.log.Error("Will be tried again", "pod", pod.Name, "error", err)
		}
	}
}

// play does the next step of a Pod.
func (r *Runner) play(ctx context.Context, pod *corev1.Pod) error {
	if pod.Labels[kubevirtv1.AppLabel] == Handler {
		return r.playHandler(ctx, pod)
	}
	c := r.container(pod.UID)
	switch {
	case pod.DeletionTimestamp != nil:
		r.end(pod.UID)
		return r.remove(ctx, pod)
	case pod.Spec.NodeName == "" || isOver(pod):
		return nil
	case c == nil:
		return r.start(ctx, pod)
	}
	return r.keep(ctx, pod, c)
}

// keep does the next step of a Pod that has a process.
func (r *Runner) keep(ctx context.Context, pod *corev1.Pod, c *container) error {
	switch {
	case c.hasExited() && pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return r.complete(ctx, pod, c)
	case c.hasExited() && c.isReplaced:
		return nil
	case c.hasExited():
		return c.process.Restart()
	case pod.Status.Phase == corev1.PodPending && c.isReady(ctx):
		return r.markReady(ctx, pod, c.podIP)
	}
	return nil
}

// playHandler makes a Pod of virt-handler Ready, and removes it, while its host runs.
func (r *Runner) playHandler(ctx context.Context, pod *corev1.Pod) error {
	switch {
	case !r.options.IsUp(pod.Spec.NodeName):
		return nil
	case pod.DeletionTimestamp != nil:
		return r.remove(ctx, pod)
	case pod.Status.Phase == corev1.PodPending:
		return r.markReady(ctx, pod, handlerIP)
	}
	return nil
}

func (r *Runner) remove(ctx context.Context, pod *corev1.Pod) error {
	return r.options.Kube.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
}

func (r *Runner) start(ctx context.Context, pod *corev1.Pod) error {
	r.endOlder(pod)
	c, err := r.newContainer(ctx, pod)
	if err != nil || c == nil {
		return err
	}
	r.log.Info("Started", "pod", pod.Name, "image", c.image, "address", c.listen)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[pod.UID] = c
	return nil
}

// endOlder ends the processes of a component that would share their identity with that of a new Pod.
func (r *Runner) endOlder(pod *corev1.Pod) {
	component := pod.Labels[kubevirtv1.AppLabel]
	if component != Operator && component != Controller {
		return
	}
	for _, c := range r.all() {
		if c.component == component {
			c.isReplaced = true
			c.process.Stop()
		}
	}
}

func (r *Runner) endMissing(pods []corev1.Pod) {
	for uid := range r.all() {
		if !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.UID == uid }) {
			r.end(uid)
		}
	}
}

func (r *Runner) endAll() {
	for uid := range r.all() {
		r.end(uid)
	}
}

// end ends the process of a Pod, if it has one.
func (r *Runner) end(uid types.UID) {
	c := r.container(uid)
	if c == nil {
		return
	}
	c.process.Stop()
	r.log.Info("Ended", "component", c.component, "image", c.image)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, uid)
}

func (r *Runner) container(uid types.UID) *container {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[uid]
}

// all containers, by the UID of their Pods.
func (r *Runner) all() map[types.UID]*container {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[types.UID]*container{}
	for uid, c := range r.running {
		all[uid] = c
	}
	return all
}
