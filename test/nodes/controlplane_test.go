// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	// aloneNumber is the number of the host that is a cluster of its own.
	aloneNumber = 9
	aloneName   = "alone"
	// apiPort of its API server, and certificates the directory of its certificates.
	apiPort      = 6443
	certificates = "/etc/kubernetes/pki"
	// administrator of the cluster.
	administrator = "kubernetes-admin"
)

// alone is a cluster of one host, whose control plane are static Pods of its kubelet.
type alone struct {
	*scenario.Cluster
	host      *host
	authority *pki.Authority
	// kube is a client to its API server.
	kube client.Client
}

// newAlone creates the cluster, with a Machine of a control plane that Cluster API does not update. The bootstrap data are those of a worker
// of the other cluster.
func newAlone(ctx context.Context, template string) *alone {
	GinkgoHelper()
	made := &alone{}
	var err error
	made.authority, err = pki.NewAuthority(aloneName)
	Expect(err).NotTo(HaveOccurred())
	made.Cluster = suite.NewCluster(ctx, theLab, scenario.Options{
		Name: aloneName, Pools: []scenario.Pool{{Name: scenario.Template}}, Spare: 1, Patience: patience, AssessmentTimeout: assessmentTimeout,
		Hosts: func(ctx context.Context, c *scenario.Cluster, agentConfig []byte) error {
			made.connect(ctx, c)
			ports := []int{portOf(theLab.ElementalAPI()), portOf(theLab.Registry.Host())}
			made.host = newHost(machine{
				name: c.HostName(1), number: aloneNumber, installed: c.Image, agentConfig: agentConfig, kubernetes: made.files(c.HostName(1)), ports: ports,
			})
			return nil
		},
	})
	Expect(made.CopyTemplate(ctx, template)).To(Succeed())
	controller, err := made.ControlPlaneStandIn(ctx)
	Expect(err).NotTo(HaveOccurred())
	bootstrap := made.copyBootstrap(ctx)
	Expect(made.CreateMachineWith(ctx, aloneName, template, controller, clusterv1.Bootstrap{DataSecretName: &bootstrap})).To(Succeed())
	Expect(made.AwaitMachines(ctx, aloneName)).To(Succeed())
	Expect(made.AwaitRolledOut(ctx, template)).To(Succeed())
	return made
}

// connect lets Cluster API reach the API server of the host, once there is one. Without these Secrets the scenario takes the lab's.
func (a *alone) connect(ctx context.Context, c *scenario.Cluster) {
	GinkgoHelper()
	kubeconfig := a.kubeconfig(administrator, address(aloneNumber))
	for name, data := range map[string]map[string][]byte{
		"kubeconfig": {"value": kubeconfig}, "ca": {"tls.crt": a.authority.CertPEM, "tls.key": a.authority.KeyPEM},
	} {
		Expect(theLab.Kube.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace(), Name: aloneName + "-" + name, Labels: map[string]string{clusterv1.ClusterNameLabel: aloneName}},
			Type:       clusterv1.ClusterSecretType, Data: data,
		})).To(Succeed())
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	a.kube, err = client.New(config, client.Options{})
	Expect(err).NotTo(HaveOccurred())
}

func (a *alone) kubeconfig(user, at string) []byte {
	GinkgoHelper()
	pair, err := a.authority.Client(user, "system:masters")
	Expect(err).NotTo(HaveOccurred())
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{aloneName: {Server: fmt.Sprintf("https://%s:%d", at, apiPort), CertificateAuthorityData: a.authority.CertPEM}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {ClientCertificateData: pair.CertPEM, ClientKeyData: pair.KeyPEM}},
		Contexts:       map[string]*clientcmdapi.Context{aloneName: {Cluster: aloneName, AuthInfo: user}},
		CurrentContext: aloneName,
	})
	Expect(err).NotTo(HaveOccurred())
	return text
}

// files are what "kubeadm init" writes into /etc/kubernetes.
func (a *alone) files(name string) map[string]string {
	GinkgoHelper()
	serving, err := a.authority.Server("kube-apiserver", address(aloneNumber))
	Expect(err).NotTo(HaveOccurred())
	return map[string]string{
		"kubelet.conf": string(a.kubeconfig("system:node:"+name, "127.0.0.1")),
		"pki/ca.crt":   string(a.authority.CertPEM),
		"pki/tls.crt":  string(serving.CertPEM),
		"pki/tls.key":  string(serving.KeyPEM),
		"manifests/etcd.yaml": staticPod("etcd", etcdImage, "/var/lib/etcd",
			"--data-dir=/var/lib/etcd", "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster=default=http://127.0.0.1:2380"),
		"manifests/kube-apiserver.yaml": staticPod("kube-apiserver", apiServerImage, certificates,
			"--etcd-servers=http://127.0.0.1:2379", fmt.Sprintf("--secure-port=%d", apiPort), "--advertise-address="+address(aloneNumber),
			"--tls-cert-file="+certificates+"/tls.crt", "--tls-private-key-file="+certificates+"/tls.key", "--client-ca-file="+certificates+"/ca.crt",
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+certificates+"/tls.key",
			"--service-account-signing-key-file="+certificates+"/tls.key", "--service-cluster-ip-range=10.0.0.0/24",
			"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount"),
	}
}

// staticPod is the manifest of a program with a directory of the host.
func staticPod(name, image, dir string, args ...string) string {
	GinkgoHelper()
	kind := corev1.HostPathDirectoryOrCreate
	text, err := yaml.Marshal(corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name, Labels: map[string]string{"component": name, "tier": "control-plane"}},
		Spec: corev1.PodSpec{
			HostNetwork: true, PriorityClassName: "system-node-critical",
			Containers: []corev1.Container{{
				Name: name, Image: image, Command: append([]string{"/" + filepath.Base(strings.TrimSuffix(image, ":1"))}, args...),
				VolumeMounts: []corev1.VolumeMount{{Name: "dir", MountPath: dir}},
			}},
			Volumes: []corev1.Volume{{Name: "dir", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir, Type: &kind}}}},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func (a *alone) copyBootstrap(ctx context.Context) string {
	GinkgoHelper()
	workers, err := cluster.PoolMachines(ctx, scenario.Deployment)
	Expect(err).NotTo(HaveOccurred())
	of := &corev1.Secret{}
	Expect(theLab.Kube.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace(), Name: *workers[0].Spec.Bootstrap.DataSecretName}, of)).To(Succeed())
	made := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace(), Name: aloneName + "-bootstrap", Labels: map[string]string{clusterv1.ClusterNameLabel: aloneName}},
		Type:       of.Type, Data: of.Data,
	}
	Expect(theLab.Kube.Create(ctx, made)).To(Succeed())
	return made.Name
}
