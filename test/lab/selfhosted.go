// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
)

// selfHosted is the management cluster while it runs on a host of the lab.
type selfHosted struct {
	mu sync.Mutex
	// node that everything runs on; empty before HostOn.
	node string
	isUp bool
	// outages are when it went down, and came up again.
	outages []Outage
}

// Outage of a management cluster that runs on a host.
type Outage struct {
	// From when its processes were ended, and Until they ran again; zero until then.
	From, Until time.Time
}

// HostOn moves the management cluster to a Node of its own, as "clusterctl move" would: its managers become Pods there. From now on
// all of it goes down with the host, and comes back with its kubelet. A graceful shutdown ends it by SIGTERM, a power cut by SIGKILL.
func (l *Lab) HostOn(ctx context.Context, node string) error {
	l.self.mu.Lock()
	defer l.self.mu.Unlock()
	if !l.options.SelfHosted {
		return errors.New("moving the management cluster to a host: the lab was started without SelfHosted")
	}
	l.stopManagers()
	l.self.node, l.self.isUp = node, true
	return l.runManagers(ctx)
}

// Outages of the management cluster so far.
func (l *Lab) Outages() []Outage {
	l.self.mu.Lock()
	defer l.self.mu.Unlock()
	return slices.Clone(l.self.outages)
}

// ownNode is the kubelet of a host that may run the management cluster.
type ownNode struct {
	host.Kubelet
	lab *Lab
}

// Run starts the static Pods, which are the control plane, and the other Pods after them.
func (n ownNode) Run(ctx context.Context, b kubelet.Boot) {
	pods := sync.WaitGroup{}
	defer pods.Wait()
	pods.Go(func() {
		if err := n.lab.comeUp(ctx, b.Join.NodeName); err != nil && ctx.Err() == nil {
			n.lab.died(fmt.Errorf("starting the management cluster on Node %s: %w", b.Join.NodeName, err))
		}
	})
	n.Kubelet.Run(ctx, b)
}

// ShutDown is a graceful shutdown: the kubelet reports it, and ends the Pods, those of the control plane last.
func (n ownNode) ShutDown(ctx context.Context, node string) error {
	err := n.Kubelet.ShutDown(ctx, node)
	n.lab.goDown(node, func() {
		n.lab.stopManagers()
		n.lab.Management.Stop()
	})
	return err
}

// onHostEvent ends what a host without a graceful shutdown takes with it.
func (l *Lab) onHostEvent(event host.Event) {
	if event.Type != host.WentDown {
		return
	}
	l.goDown(event.Host, func() {
		for _, provider := range l.providers() {
			provider.Process.Kill()
		}
		l.Management.Kill()
	})
}

func (l *Lab) goDown(node string, end func()) {
	l.self.mu.Lock()
	defer l.self.mu.Unlock()
	if node != l.self.node || !l.self.isUp {
		return
	}
	l.self.isUp = false
	l.self.outages = append(l.self.outages, Outage{From: time.Now()})
	end()
	l.progress("the management cluster went down with host %s", node)
}

func (l *Lab) comeUp(ctx context.Context, node string) error {
	l.self.mu.Lock()
	defer l.self.mu.Unlock()
	if node != l.self.node || l.self.isUp {
		return nil
	}
	l.self.isUp = true
	if err := l.Management.Restart(ctx); err != nil {
		return err
	}
	if err := l.runManagers(ctx); err != nil {
		return err
	}
	l.self.outages[len(l.self.outages)-1].Until = time.Now()
	l.progress("the management cluster came up with host %s", node)
	return nil
}

// runManagers runs all managers, which were stopped, in new Pods.
func (l *Lab) runManagers(ctx context.Context) error {
	starting, ctx := errgroup.WithContext(ctx)
	for _, provider := range l.providers() {
		starting.Go(func() error {
			if slices.Contains(l.Managers, provider) {
				if err := l.newPod(ctx, provider); err != nil {
					return err
				}
			}
			if err := provider.Process.Restart(); err != nil {
				return err
			}
			return provider.AwaitReady(ctx)
		})
	}
	return starting.Wait()
}

// newPod replaces the Pod of a replica of our manager, which is told about it as in its Deployment.
func (l *Lab) newPod(ctx context.Context, manager *capi.Provider) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ManagerNamespace, Name: manager.Name},
		Spec: corev1.PodSpec{
			NodeName: l.self.node, Containers: []corev1.Container{{Name: "manager", Image: "registry.example.com/manager:1"}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
	if err := l.Kube.Delete(ctx, pod.DeepCopy(), client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the Pod of %s: %w", manager.Name, err)
	}
	if err := l.Kube.Create(ctx, pod); err != nil {
		return fmt.Errorf("creating the Pod of %s: %w", manager.Name, err)
	}
	kubeconfig, err := l.inCluster()
	if err != nil {
		return err
	}
	manager.Process.SetEnv([]string{
		"POD_NAMESPACE=" + pod.Namespace, "POD_NAME=" + pod.Name, "POD_UID=" + string(pod.UID), "KUBECONFIG=" + kubeconfig,
	})
	return nil
}

// inCluster writes a kubeconfig that stands for the configuration of a Pod: a manager that finds itself in its workload cluster takes
// from it where the API server is, and the file of its authority.
func (l *Lab) inCluster() (string, error) {
	content, err := l.Management.Kubeconfig("in-cluster")
	if err != nil {
		return "", err
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return "", fmt.Errorf("reading the configuration of a Pod: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, l.Management.CAFile()
	}
	file := filepath.Join(l.options.Dir, "management", "in-cluster.kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return "", fmt.Errorf("writing the configuration of a Pod: %w", err)
	}
	return file, nil
}
