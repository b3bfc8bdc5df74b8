// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
)

const (
	formerNamespace    = "edge"
	formerRegistration = "my-registration"
	formerImage        = "oci://registry.example.com/os:v1"
)

// formerCluster is a cluster of version 0.7: objects as its manager has left them, and the keys of its hosts.
type formerCluster struct {
	*plane
	keys map[string]ed25519.PrivateKey
}

// newFormerCluster creates the cluster, with Cluster API's managers and in place of that of 0.7.
func newFormerCluster(ctx context.Context, p *plane) *formerCluster {
	GinkgoHelper()
	c := &formerCluster{plane: p, keys: map[string]ed25519.PrivateKey{}}
	Expect(p.Kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: formerNamespace}})).To(Succeed())
	p.kubectl(ctx, "apply", "--filename", formerFile("cluster.yaml"))
	Expect(p.ConnectWorkload(ctx, formerNamespace, "shop")).To(Succeed())
	Expect(p.InitializeControlPlane(ctx, formerNamespace, "shop")).To(Succeed())
	c.writeStatus(ctx, former("ElementalCluster", "shop"), map[string]any{"ready": true, "conditions": formerConditions("CAPIClusterReady", "ControlPlaneEndpointReady")})
	registration := former("ElementalRegistration", formerRegistration)
	c.writeStatus(ctx, registration, map[string]any{"conditions": formerConditions()})
	c.makeSigningKey(ctx, registration)

	machines := &unstructured.UnstructuredList{}
	machines.SetGroupVersionKind(infrav1.GroupVersion.WithKind("ElementalMachineList"))
	Eventually(func() ([]unstructured.Unstructured, error) {
		return machines.Items, p.Kube.List(ctx, machines, client.InNamespace(formerNamespace))
	}).WithContext(ctx).Should(HaveLen(2))
	for i := range machines.Items {
		c.associate(ctx, &machines.Items[i], c.makeHost(ctx, fmt.Sprintf("m-%d", i+1), registration))
	}
	Eventually(func() ([]clusterv1.Machine, error) {
		list := &clusterv1.MachineList{}
		return list.Items, p.Kube.List(ctx, list, client.InNamespace(formerNamespace))
	}).WithContext(ctx).Should(And(HaveLen(2), HaveEach(HaveField("Status.Phase", "Running"))))
	return c
}

// former is an object of version 0.7, whose fields are not those of the types of this version.
func former(kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind))
	object.SetNamespace(formerNamespace)
	object.SetName(name)
	return object
}

// formerConditions are True, as version 0.7 stored them: with a severity and without a reason.
func formerConditions(types ...string) []any {
	conditions := []any{}
	for _, name := range append([]string{"Ready"}, types...) {
		conditions = append(conditions, map[string]any{
			"type": name, "status": "True", "severity": "Info", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		})
	}
	return conditions
}

func (c *formerCluster) writeStatus(ctx context.Context, object *unstructured.Unstructured, status map[string]any) {
	GinkgoHelper()
	Expect(c.Kube.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopy()
	object.Object["status"] = status
	Expect(c.Kube.Status().Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}

func (c *formerCluster) makeSigningKey(ctx context.Context, registration *unstructured.Unstructured) {
	GinkgoHelper()
	key, err := token.NewSigningKey()
	Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{Data: map[string][]byte{token.SecretKey: key}}
	secret.Namespace, secret.Name = formerNamespace, formerRegistration
	secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(registration, registration.GroupVersionKind())}
	Expect(c.Kube.Create(ctx, secret)).To(Succeed())
}

// makeHost registers a host as version 0.7 did: owned by its registration, with what is known of it on labels.
func (c *formerCluster) makeHost(ctx context.Context, name string, registration *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	public, private, err := ed25519.GenerateKey(nil)
	Expect(err).NotTo(HaveOccurred())
	encoded, err := token.EncodePublicKey(public)
	Expect(err).NotTo(HaveOccurred())
	c.keys[name] = private
	host := former("ElementalHost", name)
	host.SetLabels(map[string]string{"rack": "r1", infrav1.InstalledLabel: "true"})
	host.SetFinalizers([]string{infrav1.ElementalMachineFinalizer})
	host.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: registration.GetAPIVersion(), Kind: registration.GetKind(), Name: registration.GetName(), UID: registration.GetUID(),
		Controller: ptr.To(true),
	}})
	host.Object["spec"] = map[string]any{"pubKey": encoded}
	Expect(c.Kube.Create(ctx, host)).To(Succeed())
	return host
}

// associate does what version 0.7 did when a host became a node.
func (c *formerCluster) associate(ctx context.Context, machine, host *unstructured.Unstructured) {
	GinkgoHelper()
	owner := machine.GetOwnerReferences()[0].Name
	before := host.DeepCopy()
	labels := host.GetLabels()
	labels[infrav1.BootstrappedLabel], labels[infrav1.MachineNameLabel] = "true", owner
	labels[infrav1.ElementalMachineNameLabel], labels[clusterv1.ClusterNameLabel] = machine.GetName(), "shop"
	host.SetLabels(labels)
	os := map[string]any{"osVersion": map[string]any{"imageUri": formerImage}}
	spec := host.Object["spec"].(map[string]any)
	spec["machineRef"], spec["osVersionManagement"] = reference(machine), os
	spec["bootstrapSecret"] = map[string]any{"kind": "Secret", "namespace": formerNamespace, "name": "bootstrap"}
	Expect(c.Kube.Patch(ctx, host, client.MergeFrom(before))).To(Succeed())
	c.writeStatus(ctx, host, map[string]any{
		"phase": "Running", "conditions": formerConditions("RegistrationReady", "InstallationReady", "BootstrapReady"),
	})

	providerID := "elemental://" + formerNamespace + "/" + host.GetName()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: host.GetName()}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	Expect(c.WorkloadKube.Create(ctx, node)).To(Succeed())
	unassociated := machine.DeepCopy()
	machine.SetFinalizers([]string{infrav1.ElementalMachineFinalizer})
	spec = machine.Object["spec"].(map[string]any)
	spec["hostRef"], spec["providerID"] = reference(host), providerID
	Expect(c.Kube.Patch(ctx, machine, client.MergeFrom(unassociated))).To(Succeed())
	c.writeStatus(ctx, machine, map[string]any{
		"ready": true, "conditions": formerConditions("AssociationReady", "HostReady", "ProviderIDReady"),
	})
}

func reference(object *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "namespace": object.GetNamespace(), "name": object.GetName(),
		"uid": string(object.GetUID()),
	}
}

// identities are the objects that have to survive, and what they refer to.
func (c *formerCluster) identities(ctx context.Context) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for kind, path := range map[schema.GroupVersionKind][]string{
		clusterv1.GroupVersion.WithKind("Cluster"):                {"spec", "infrastructureRef", "name"},
		clusterv1.GroupVersion.WithKind("Machine"):                {"status", "nodeRef", "name"},
		infrav1.GroupVersion.WithKind("ElementalCluster"):         nil,
		infrav1.GroupVersion.WithKind("ElementalMachine"):         {"spec", "hostRef", "uid"},
		infrav1.GroupVersion.WithKind("ElementalHost"):            {"spec", "machineRef", "uid"},
		infrav1.GroupVersion.WithKind("ElementalMachineTemplate"): nil,
		infrav1.GroupVersion.WithKind("ElementalRegistration"):    nil,
		corev1.SchemeGroupVersion.WithKind("Secret"):              nil,
		clusterv1.GroupVersion.WithKind("MachineDeployment"):      nil,
		clusterv1.GroupVersion.WithKind("MachineSet"):             nil,
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		Expect(c.Kube.List(ctx, list, client.InNamespace(formerNamespace))).To(Succeed())
		Expect(list.Items).NotTo(BeEmpty(), kind.Kind)
		for _, object := range list.Items {
			refersTo := ""
			if len(path) > 0 {
				refersTo, _, _ = unstructured.NestedString(object.Object, path...)
				Expect(refersTo).NotTo(BeEmpty(), kind.Kind+" "+object.GetName())
			}
			Expect(object.GetDeletionTimestamp()).To(BeNil(), object.GetName())
			found[kind.Kind+" "+object.GetName()] = string(object.GetUID()) + " " + refersTo
		}
	}
	return found
}

// expectKept asserts that all objects are still there, and refer to what they did. Others, such as Secrets, may have been added.
func (c *formerCluster) expectKept(ctx context.Context, before map[string]string) {
	GinkgoHelper()
	now := c.identities(ctx)
	for name, identity := range before {
		Expect(now).To(HaveKeyWithValue(name, identity))
	}
}
