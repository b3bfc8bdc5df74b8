// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"context"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/rancher"
)

// The keys of the hooks that specs answer.
const (
	pre  = "hook.test/pre"
	post = "hook.test/post"
	pool = "workers"
)

// world is a cluster in a namespace of its own. The one API server is its workload cluster, too. What Cluster API's managers do is done
// here.
type world struct {
	key      client.ObjectKey
	machines []*clusterv1.Machine
}

var worlds int

// newWorld has a machine for each name: a control plane, and workers.
func newWorld(ctx context.Context, strategy rancher.UpgradeStrategy, names ...string) *world {
	GinkgoHelper()
	worlds++
	w := &world{key: client.ObjectKey{Namespace: "fleet-" + strconv.Itoa(worlds), Name: "c" + strconv.Itoa(worlds)}}
	Expect(server.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.key.Namespace}})).To(Succeed())
	w.setKubeconfig(ctx, server.Config.Host)
	template := &corev1.ObjectReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "ElementalMachineTemplate", Name: "racks"}
	cluster, err := rancher.NewCluster(w.key.Namespace, w.key.Name, rancher.ClusterSpec{
		KubernetesVersion: "v1.36.3+rke2r1",
		RKEConfig: rancher.RKEConfig{
			UpgradeStrategy:   strategy,
			InfrastructureRef: &corev1.ObjectReference{APIVersion: template.APIVersion, Kind: "ElementalCluster", Name: w.key.Name},
			MachinePools: []rancher.MachinePool{
				{Name: "cp", Quantity: 1, EtcdRole: true, ControlPlaneRole: true, MachineConfigRef: template},
				{Name: pool, Quantity: int64(len(names) - 1), WorkerRole: true, MachineConfigRef: template},
			},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(server.Client.Create(ctx, cluster)).To(Succeed())
	w.provision(ctx)
	for i, name := range names {
		w.addMachine(ctx, []string{"cp", pool}[min(i, 1)], name, true)
	}
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(server.Client.Delete(ctx, cluster))).To(Succeed()) })
	w.awaitRolled(ctx)
	return w
}

// setKubeconfig connects the cluster to an API server.
func (w *world) setKubeconfig(ctx context.Context, host string) {
	GinkgoHelper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://" + strings.TrimPrefix(host, "https://"), CertificateAuthorityData: server.Config.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: server.Config.CertData, ClientKeyData: server.Config.KeyData}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	content, err := clientcmd.Write(*config)
	Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: w.key.Name + "-kubeconfig"}, Data: map[string][]byte{"value": content}}
	if err := server.Client.Update(ctx, secret.DeepCopy()); err != nil {
		Expect(server.Client.Create(ctx, secret)).To(Succeed())
	}
}

// provision tells that the infrastructure of the cluster is there.
func (w *world) provision(ctx context.Context) {
	GinkgoHelper()
	cluster := &clusterv1.Cluster{}
	Eventually(func() error { return server.Client.Get(ctx, w.key, cluster) }).WithContext(ctx).Should(Succeed())
	before := cluster.DeepCopy()
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	Expect(server.Client.Status().Patch(ctx, cluster, client.MergeFrom(before))).To(Succeed())
}

// addMachine makes a Machine of a pool with its RKEBootstrap, and its Node, if it has one.
func (w *world) addMachine(ctx context.Context, of, name string, hasNode bool) *clusterv1.Machine {
	GinkgoHelper()
	deployment := &clusterv1.MachineDeployment{}
	key := client.ObjectKey{Namespace: w.key.Namespace, Name: rancher.DeploymentName(w.key.Name, of)}
	Eventually(func() error { return server.Client.Get(ctx, key, deployment) }).WithContext(ctx).Should(Succeed())
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.key.Namespace, Name: w.key.Name + "-" + name,
			Labels: deployment.Spec.Template.Labels, Annotations: deployment.Spec.Template.Annotations,
		},
		Spec: *deployment.Spec.Template.Spec.DeepCopy(),
	}
	machine.Spec.Bootstrap.ConfigRef.Kind, machine.Spec.Bootstrap.ConfigRef.Name = rancher.BootstrapKind.Kind, machine.Name
	machine.Spec.InfrastructureRef.Kind, machine.Spec.InfrastructureRef.Name = "ElementalMachine", machine.Name
	Expect(server.Client.Create(ctx, machine)).To(Succeed())
	w.machines = append(w.machines, machine)
	bootstrap := newBootstrap(machine)
	Expect(server.Client.Create(ctx, bootstrap)).To(Succeed())
	if hasNode {
		w.join(ctx, machine)
	}
	Eventually(func() error { return server.Client.Get(ctx, rancher.PlanSecret(machine), &corev1.Secret{}) }).WithContext(ctx).Should(Succeed())
	return machine
}

// join makes the Node of a Machine, Ready.
func (w *world) join(ctx context.Context, machine *clusterv1.Machine) {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine.Name}}
	Expect(server.Client.Create(ctx, node)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(server.Client.Delete(ctx, node)).To(Succeed()) })
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	Expect(server.Client.Status().Update(ctx, node)).To(Succeed())
	before := machine.DeepCopy()
	machine.Status.NodeRef.Name = node.Name
	Expect(server.Client.Status().Patch(ctx, machine, client.MergeFrom(before))).To(Succeed())
}

// awaitRolled waits until all machines have their plan and no drain is under way.
func (w *world) awaitRolled(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() (bool, error) { return rancher.IsRolled(ctx, server.Client, w.key) }).WithContext(ctx).Should(BeTrue())
	Eventually(w.said).WithContext(ctx).Should(Equal(rancher.Done))
}

// said is condition Ready of the control plane, and its message.
func (w *world) said(ctx context.Context) (string, error) {
	return rancher.Says(ctx, server.Client, w.key)
}

// annotations of a machine's plan Secret.
func (w *world) annotations(machine int) func(context.Context) (map[string]string, error) {
	return func(ctx context.Context) (map[string]string, error) {
		secret := &corev1.Secret{}
		err := server.Client.Get(ctx, rancher.PlanSecret(w.machines[machine]), secret)
		return secret.Annotations, err
	}
}

// workersWith is a strategy that drains workers by the options, and control planes not at all.
func workersWith(options rancher.DrainOptions) rancher.UpgradeStrategy {
	return rancher.UpgradeStrategy{WorkerDrainOptions: options}
}

func token(options rancher.DrainOptions) string {
	GinkgoHelper()
	made, err := options.Token()
	Expect(err).NotTo(HaveOccurred())
	return made
}

// haveNone of the keys of a drain.
func haveNone() types.GomegaMatcher {
	keys := []types.GomegaMatcher{}
	for _, key := range []string{
		rancher.DrainOptionsAnnotation, rancher.PreDrainAnnotation, rancher.DrainDoneAnnotation, rancher.UncordonAnnotation,
		rancher.PostDrainAnnotation, rancher.DrainErrorAnnotation, pre, post,
	} {
		keys = append(keys, Not(HaveKey(key)))
	}
	return And(keys...)
}

// newBootstrap is what Cluster API clones from the template of the pool.
func newBootstrap(machine *clusterv1.Machine) client.Object {
	bootstrap := &unstructured.Unstructured{}
	bootstrap.SetGroupVersionKind(rancher.BootstrapKind)
	bootstrap.SetNamespace(machine.Namespace)
	bootstrap.SetName(machine.Name)
	bootstrap.SetLabels(machine.Labels)
	bootstrap.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(machine, clusterv1.GroupVersion.WithKind("Machine"))})
	return bootstrap
}
