// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/pods"
)

const (
	// registry of the images, none of which is ever pulled.
	registry = "quay.io/kubevirt/"

	operatorAccount = "kubevirt-operator"
	// operatorField owns what is applied with an operator.
	operatorField = "lab"
)

// releases are the versions with an operator: the suffix of their binaries, and the file with what is applied with it.
var releases = map[string]struct{ suffix, manifests string }{
	Version:     {"", "kubevirt.yaml"},
	NextVersion: {"-next", "kubevirt-next.yaml"},
}

// Missing tells what Options.Operator requires and is not there: Linux, or a binary; empty if nothing is.
func Missing(binaries string) string {
	if runtime.GOOS != "linux" {
		return "Pods that are processes need all of 127.0.0.0/8, which only Linux has"
	}
	for _, name := range []string{pods.Operator, pods.Operator + "-next", virtAPI + "-next", virtController + "-next"} {
		if _, err := os.Stat(filepath.Join(binaries, name)); err != nil {
			return name + " is not built: run 'make tools-kubevirt-operator'"
		}
	}
	return ""
}

// installOperator installs the operator as its manifests do: the CRD of KubeVirt objects, the namespace, and its
// Deployment.
func (k *KubeVirt) installOperator(ctx context.Context) error {
	if missing := Missing(k.options.Binaries); missing != "" {
		return errors.New(missing)
	}
	for _, kind := range []string{kindNamespace, "PriorityClass"} {
		if err := k.manifests.OfKind(kind).Create(ctx, k.options.Kube); err != nil {
			return err
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: operatorAccount}}
	if err := k.create(ctx, account); err != nil {
		return err
	}
	if err := k.ApplyOperator(ctx, Version); err != nil {
		return err
	}
	return capi.AwaitEstablished(ctx, k.options.Kube, operatorCRD(k.manifests))
}

// operatorCRD is that of KubeVirt objects: the operator makes the others.
func operatorCRD(manifests capi.Manifests) capi.Manifests {
	for _, crd := range manifests.CRDs() {
		if crd.GetName() == "kubevirts."+kubevirtv1.GroupVersion.Group {
			return capi.Manifests{crd}
		}
	}
	return nil
}

// ApplyOperator applies the manifests of the operator of a version, as a person does to install or upgrade it. The
// operator then upgrades KubeVirt to its own version, unless spec.imageTag of the KubeVirt object says another one.
func (k *KubeVirt) ApplyOperator(ctx context.Context, version string) error {
	release, isKnown := releases[version]
	if !isKnown {
		return fmt.Errorf("applying virt-operator: the lab has no version %s", version)
	}
	manifests, err := capi.Load(filepath.Join(k.options.Manifests, release.manifests))
	if err != nil {
		return err
	}
	objects := []client.Object{operatorDeployment(version)}
	for _, crd := range operatorCRD(manifests) {
		unstructured.RemoveNestedField(crd.Object, "status")
		objects = append([]client.Object{crd}, objects...)
	}
	for _, object := range objects {
		//nolint:staticcheck // its successor has no form for objects that are no apply configurations
		err := k.options.Kube.Patch(ctx, object, client.Apply, client.FieldOwner(operatorField), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("applying %s of virt-operator %s: %w", object.GetName(), version, err)
		}
	}
	return nil
}

// operatorDeployment is the Deployment in KubeVirt's manifests, with one replica. Source: KubeVirt 1.7,
// pkg/virt-operator/resource/generate/components, NewOperatorDeployment.
func operatorDeployment(version string) *appsv1.Deployment {
	labels := map[string]string{kubevirtv1.AppLabel: pods.Operator}
	image := registry + pods.Operator + ":" + version
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: pods.Operator, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: operatorAccount, PriorityClassName: "kubevirt-cluster-critical", Tolerations: onControlPlane(),
					Containers: []corev1.Container{{
						Name: pods.Operator, Image: image, Command: []string{pods.Operator}, Args: []string{"--port", "8443", "-v", "2"},
						Env: []corev1.EnvVar{{Name: "VIRT_OPERATOR_IMAGE", Value: image}},
						Ports: []corev1.ContainerPort{
							{Name: "metrics", ContainerPort: 8443, Protocol: corev1.ProtocolTCP},
							{Name: "webhooks", ContainerPort: 8444, Protocol: corev1.ProtocolTCP},
						},
						ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
							Scheme: corev1.URISchemeHTTPS, Port: intstr.FromInt32(8443), Path: "/metrics",
						}}},
					}},
				},
			},
		},
	}
}

// onControlPlane tolerates the taint of control plane nodes.
func onControlPlane() []corev1.Toleration {
	return []corev1.Toleration{{
		Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
	}}
}

// createKubeVirt creates the object that the operator deploys. Its components run once, on any node.
func (k *KubeVirt) createKubeVirt(ctx context.Context) error {
	return k.create(ctx, &kubevirtv1.KubeVirt{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name},
		Spec: kubevirtv1.KubeVirtSpec{
			Infra: &kubevirtv1.ComponentConfig{
				Replicas: ptr.To[uint8](1), NodePlacement: &kubevirtv1.NodePlacement{Tolerations: onControlPlane()},
			},
			Configuration: kubevirtv1.KubeVirtConfiguration{
				CommonInstancetypesDeployment: &kubevirtv1.CommonInstancetypesDeployment{Enabled: ptr.To(false)},
			},
		},
	})
}

// startPods runs the processes of the operator and of what it deploys.
func (k *KubeVirt) startPods(ctx context.Context) (err error) {
	k.Pods, err = pods.Start(ctx, pods.Options{
		Kube: k.options.Kube, Namespace: Namespace, Dir: k.path("kubevirt-pods"), Died: k.options.Died,
		Kubeconfig: k.podKubeconfig, IsUp: k.isUp,
		Binary: func(command, tag string) (string, error) {
			release, isKnown := releases[tag]
			if !isKnown {
				return "", fmt.Errorf("no %s of version %q is built", command, tag)
			}
			return k.binary(command + release.suffix), nil
		},
	})
	return err
}

// isUp reports whether virt-handler can run on a Node's host.
func (k *KubeVirt) isUp(node string) bool {
	select {
	case <-k.playable:
		return k.Hypervisor.IsUp(node)
	default:
		return false
	}
}

// podKubeconfig is that of a ServiceAccount with the roles that the operator makes. The operator's own roles are not
// reproduced: it is an administrator.
func (k *KubeVirt) podKubeconfig(account string) (string, error) {
	if account == operatorAccount {
		return k.options.Cluster.WriteKubeconfig(serviceAccount(account))
	}
	return k.options.Cluster.WriteUserKubeconfig(serviceAccount(account), account)
}

// handlerOn is the configuration of virt-handler's client on a node. As its token says, the user is one of that node: a
// policy of the operator lets it change no other.
func (k *KubeVirt) handlerOn(node string) (*rest.Config, error) {
	config, err := k.options.Cluster.RESTConfig("virt-handler")
	if err != nil {
		return nil, err
	}
	config.Impersonate = rest.ImpersonationConfig{
		UserName: serviceAccount("kubevirt-handler"),
		Extra:    map[string][]string{"authentication.kubernetes.io/node-name": {node}},
	}
	return config, nil
}
