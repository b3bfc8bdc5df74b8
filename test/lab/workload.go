// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/scheme"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/hypervisor"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/pods"
)

// Users of Cluster API and our manager in the workload cluster, where they share a kubeconfig.
const (
	workloadAdmin   = "cluster-api"
	workloadAccount = "system:serviceaccount:kube-system:cluster-api-elemental"
)

// WorkloadUser is the user of Cluster API and our manager in workload clusters.
func (l *Lab) WorkloadUser() string {
	if l.options.WorkloadAccount {
		return workloadAccount
	}
	return workloadAdmin
}

// WorkloadServices is the network of the ClusterIPs of workload clusters where managers run as Pods: see Options.PodsReach. The management cluster
// has 10.0.0.0/24.
const WorkloadServices = "10.0.1.0/24"

// workloadControllers are the controllers of kube-controller-manager that nodes, Pods and
// PodDisruptionBudgets depend on.
func workloadControllers() []string {
	return []string{
		"node-lifecycle-controller", "taint-eviction-controller", "disruption-controller",
		"deployment-controller", "replicaset-controller", "daemonset-controller", "statefulset-controller", "job-controller",
		"garbage-collector-controller", "pod-garbage-collector-controller", "namespace-controller",
		"serviceaccount-controller", "endpoints-controller", "bootstrap-signer-controller", "persistentvolume-attach-detach-controller",
	}
}

// kubeletControllers are those that real kubelets depend on besides, when they join.
func kubeletControllers() []string {
	return []string{"certificatesigningrequest-approving-controller", "certificatesigningrequest-signing-controller"}
}

// podControllers are those that Pods of managers depend on besides.
func podControllers() []string {
	return append(workloadControllers(), "endpointslice-controller", "root-ca-certificate-publisher-controller", "clusterrole-aggregation-controller")
}

func (l *Lab) startWorkload(ctx context.Context) error {
	if l.options.WithoutWorkload || l.options.SelfHosted {
		return nil
	}
	workload, err := l.newWorkload(ctx, "workload")
	if err != nil {
		return err
	}
	l.Workload, l.WorkloadKube, l.KubeVirt = workload.Cluster, workload.Kube, workload.KubeVirt
	return nil
}

// Workload is a workload cluster besides the lab's first, with a client to it.
type Workload struct {
	Cluster *kube.Cluster
	Kube    client.WithWatch
	// KubeVirt is nil in a lab without KubeVirt.
	KubeVirt *kubevirt.KubeVirt
}

// StartWorkload starts an additional workload cluster, for another Cluster.
func (l *Lab) StartWorkload(ctx context.Context, name string) (*Workload, error) {
	workload, err := l.newWorkload(ctx, name)
	if err != nil {
		return nil, err
	}
	l.workloads = append(l.workloads, workload)
	return workload, nil
}

func (l *Lab) newWorkload(ctx context.Context, name string) (*Workload, error) {
	dir, err := l.dir(name)
	if err != nil {
		return nil, err
	}
	options := kube.Options{
		Name: name, Dir: dir, Binaries: filepath.Dir(l.options.tool("etcd")),
		Controllers: workloadControllers(), Pods: true, PodStages: l.options.podStages(), Died: l.died,
		Address: l.options.PodsReach, Kubelets: l.options.WithoutKwok,
	}
	if l.options.PodsReach != "" {
		options.Controllers, options.Services = podControllers(), WorkloadServices
	}
	if options.Kubelets {
		options.Controllers = append(options.Controllers, kubeletControllers()...)
	}
	if err := l.prepareKubeVirt(&options); err != nil {
		return nil, err
	}
	cluster, err := kube.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	l.meter.add(cluster)
	workload, err := connect(cluster)
	if err != nil {
		cluster.Stop()
		return nil, err
	}
	l.progress("%s cluster ready", name)
	if err := l.startKubeVirt(ctx, workload, dir); err != nil {
		cluster.Stop()
		return nil, err
	}
	return workload, nil
}

// prepareKubeVirt makes a cluster one that KubeVirt can be installed on.
func (l *Lab) prepareKubeVirt(options *kube.Options) error {
	if l.options.VirtOperator {
		played, err := pods.Selector(hypervisor.Launcher)
		if err != nil {
			return err
		}
		options.PlayedElsewhere, options.PodNetwork = played.String(), true
		// The last annotates each Node, without which a policy of the operator fails.
		options.Controllers = append(options.Controllers, "job-controller", "endpointslice-controller", "ttl-controller")
	} else if l.options.KubeVirt {
		options.PlayedElsewhere = hypervisor.LauncherSelector
	}
	return nil
}

func (l *Lab) startKubeVirt(ctx context.Context, workload *Workload, dir string) error {
	if !l.options.KubeVirt {
		return nil
	}
	started, err := kubevirt.Start(ctx, kubevirt.Options{
		Cluster: workload.Cluster, Kube: workload.Kube, Dir: dir, Binaries: filepath.Dir(l.options.tool("virt-api")),
		Manifests: l.options.manifest(""), Operator: l.options.VirtOperator, Died: l.died,
	})
	if err != nil {
		return err
	}
	workload.KubeVirt = started
	l.progress("KubeVirt ready on the %s cluster", workload.Cluster.Name())
	return nil
}

// NodeOf simulates the kubelet of a host, and its virt-handler where KubeVirt is installed.
func (l *Lab) NodeOf(cluster *kube.Cluster, name string) (host.Kubelet, error) {
	config, err := cluster.RESTConfig("kubelet-" + name)
	if err != nil {
		return nil, err
	}
	node, err := kubelet.New(kubelet.Options{Config: config, Allocatable: l.options.NodeSize})
	if err != nil {
		return nil, fmt.Errorf("making the kubelet of host %s: %w", name, err)
	}
	if found := l.kubeVirtOf(cluster); found != nil {
		return found.Kubelet(node), nil
	}
	if l.options.SelfHosted {
		return ownNode{Kubelet: node, lab: l}, nil
	}
	return node, nil
}

func (l *Lab) kubeVirtOf(cluster *kube.Cluster) *kubevirt.KubeVirt {
	if cluster == l.Workload {
		return l.KubeVirt
	}
	for _, workload := range l.workloads {
		if workload.Cluster == cluster {
			return workload.KubeVirt
		}
	}
	return nil
}

func connect(cluster *kube.Cluster) (*Workload, error) {
	config, err := cluster.RESTConfig("lab")
	if err != nil {
		return nil, err
	}
	made, err := client.NewWithWatch(config, client.Options{Scheme: scheme.New()})
	if err != nil {
		return nil, fmt.Errorf("making the client of the workload cluster: %w", err)
	}
	_, err = cluster.WriteKubeconfig("admin")
	return &Workload{Cluster: cluster, Kube: made}, err
}

// CreateNamespace creates a namespace that is opted in to in-place upgrades.
func (l *Lab) CreateNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{infrav1.ExtensionNamespaceLabel: infrav1.ExtensionNamespaceEnabled},
	}}
	if err := l.Kube.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Namespace %s: %w", name, err)
	}
	return nil
}

// ConnectWorkload makes the workload cluster that of a Cluster, by creating the Secrets that a
// control plane provider would create.
func (l *Lab) ConnectWorkload(ctx context.Context, namespace, cluster string) error {
	return l.ConnectTo(ctx, l.Workload, namespace, cluster)
}

// ConnectTo does the same with the given workload cluster.
func (l *Lab) ConnectTo(ctx context.Context, workload *kube.Cluster, namespace, cluster string) error {
	kubeconfig, err := l.workloadKubeconfig(ctx, workload)
	if err != nil {
		return err
	}
	if l.options.Metered {
		kubeconfig = workload.ByService(kubeconfig)
	}
	authority := workload.Authority()
	for name, data := range map[string]map[string][]byte{
		cluster + "-kubeconfig": {"value": kubeconfig},
		cluster + "-ca":         {"tls.crt": authority.CertPEM, "tls.key": authority.KeyPEM},
	} {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
			Type:       clusterv1.ClusterSecretType,
			Data:       data,
		}
		if err := l.Kube.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating Secret %s: %w", name, err)
		}
	}
	return nil
}

// workloadKubeconfig is the kubeconfig by which a workload cluster is reached.
func (l *Lab) workloadKubeconfig(ctx context.Context, workload *kube.Cluster) ([]byte, error) {
	if !l.options.WorkloadAccount {
		return workload.Kubeconfig(workloadAdmin)
	}
	script := exec.CommandContext(ctx, filepath.Join(l.options.Root, "hack", "print-workload-kubeconfig.sh"))
	script.Env = append(os.Environ(), "KUBECTL="+l.options.tool("kubectl"), "KUBECONFIG="+AdminKubeconfig(workload))
	complained := &bytes.Buffer{}
	script.Stderr = complained
	kubeconfig, err := script.Output()
	if err != nil {
		return nil, fmt.Errorf("making the account of config/workload: %w: %s", err, complained)
	}
	return kubeconfig, nil
}
