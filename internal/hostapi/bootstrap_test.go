// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const finalizer = "test.example.com/stays"

// served is a host m-1 that serves an ElementalMachine and a Machine, with what a bootstrap provider made for it.
type served struct {
	*caller
	owner     *clusterv1.Machine
	elemental *infrav1.ElementalMachine
	secret    *corev1.Secret
}

func owned(apiVersion, kind, name string, controller bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: "of-another-management-cluster", Controller: ptr.To(controller)}
}

// newServed is stored by store.
func newServed(ctx context.Context) *served {
	GinkgoHelper()
	s := &served{caller: newCaller(ctx)}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: s.endpoint.Namespace, Name: name}
	}
	s.owner = &clusterv1.Machine{ObjectMeta: meta("machine-1")}
	s.owner.Finalizers = []string{finalizer}
	s.owner.Spec = clusterv1.MachineSpec{
		ClusterName:       "shop",
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ElementalMachine", Name: "em-1"},
		Bootstrap: clusterv1.Bootstrap{
			ConfigRef:      clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfig", Name: "config-1"},
			DataSecretName: ptr.To("boot"),
		},
	}
	s.elemental = &infrav1.ElementalMachine{ObjectMeta: meta("em-1")}
	s.elemental.OwnerReferences = []metav1.OwnerReference{owned(clusterv1.GroupVersion.String(), "Machine", "machine-1", true)}
	s.elemental.Spec.HostRef = &infrav1.LocalReference{Name: "m-1"}
	s.secret = &corev1.Secret{ObjectMeta: meta("boot"), Data: map[string][]byte{"value": []byte("#cloud-config\n"), "format": []byte("cloud-config")}}
	s.secret.OwnerReferences = []metav1.OwnerReference{owned("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", "config-1", true)}
	return s
}

// store all but the bootstrap Secret, and have the host serve the machine.
func (s *served) store(ctx context.Context) {
	GinkgoHelper()
	for _, object := range []client.Object{s.owner, s.elemental} {
		Expect(plane.Client.Create(ctx, object)).To(Succeed())
	}
	s.host.change(ctx, associate)
}

func associate(object *infrav1.ElementalHost) {
	object.Spec.Approved = true
	object.Spec.MachineRef = &infrav1.LocalReference{Name: "em-1"}
	object.Spec.BootstrapSecret = &infrav1.SecretReference{Name: "boot"}
}

// makeServed stores all, as it is before anybody changes something.
func makeServed(ctx context.Context) *served {
	GinkgoHelper()
	s := newServed(ctx)
	s.store(ctx)
	Expect(plane.Client.Create(ctx, s.secret)).To(Succeed())
	return s
}

// makeSecret beside the host's own.
func (s *served) makeSecret(ctx context.Context, name, value string, owners ...metav1.OwnerReference) {
	GinkgoHelper()
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.endpoint.Namespace, Name: name, OwnerReferences: owners}}
	object.Data = map[string][]byte{"value": []byte(value)}
	Expect(plane.Client.Create(ctx, object)).To(Succeed())
}

func (s *served) changeMachine(ctx context.Context, change func(*clusterv1.MachineSpec)) {
	GinkgoHelper()
	change(&s.owner.Spec)
	Expect(plane.Client.Update(ctx, s.owner)).To(Succeed())
}

// compressed is text as a bootstrap provider compresses it.
func compressed(text string) string {
	packed := bytes.Buffer{}
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write([]byte(text))
	Expect(errors.Join(err, writer.Close())).To(Succeed())
	return packed.String()
}

// told are the Events since this was asked last.
func told() []string {
	notes := []string{}
	for {
		select {
		case note := <-recorder.Events:
			notes = append(notes, note)
		default:
			return notes
		}
	}
}

var _ = Describe("Bootstrap data", func() {
	BeforeEach(func() { told() })

	It("is handed to the approved host that it is for", func(ctx SpecContext) {
		who := makeServed(ctx)
		Expect(into[wire.Bootstrap](who.host.get(ctx, "/bootstrap"))).To(Equal(wire.Bootstrap{Format: "cloud-config", Config: "#cloud-config\n"}))
		Expect(who.neighbour.get(ctx, "/bootstrap").status).To(Equal(http.StatusForbidden))
	})

	It("is not there before it is there", func(ctx SpecContext) {
		who := newServed(ctx)
		who.host.change(ctx, func(object *infrav1.ElementalHost) { object.Spec.Approved = true })
		Expect(who.host.get(ctx, "/bootstrap").status).To(Equal(http.StatusNotFound))
		who.owner.Spec.Bootstrap.DataSecretName = nil
		who.store(ctx)
		Expect(who.host.get(ctx, "/bootstrap").status).To(Equal(http.StatusNotFound))
		who.changeMachine(ctx, func(spec *clusterv1.MachineSpec) { spec.Bootstrap.DataSecretName = ptr.To("boot") })
		early := who.host.get(ctx, "/bootstrap")
		Expect(early.status).To(Equal(http.StatusNotFound))
		Expect(early.message()).To(ContainSubstring("no bootstrap data for host m-1 yet"))
		Expect(told()).To(BeEmpty())
		delete(who.secret.Data, "format")
		Expect(plane.Client.Create(ctx, who.secret)).To(Succeed())
		Expect(into[wire.Bootstrap](who.host.get(ctx, "/bootstrap"))).To(Equal(wire.Bootstrap{Format: "cloud-config", Config: "#cloud-config\n"}))
	})

	DescribeTable("is withheld", func(ctx SpecContext, change func(*infrav1.ElementalHost), want int, reason string) {
		who := makeServed(ctx)
		who.host.change(ctx, change)
		refused := who.host.get(ctx, "/bootstrap")
		Expect(refused.status).To(Equal(want))
		Expect(refused.message()).To(ContainSubstring(reason))
	},
		Entry("from a host that is not approved", func(h *infrav1.ElementalHost) { h.Spec.Approved = false }, 403, "not approved"),
		Entry("from a host that serves no Machine", func(h *infrav1.ElementalHost) { h.Spec.MachineRef = nil }, 404, "no bootstrap data"),
		Entry("from a host that has to reset", func(h *infrav1.ElementalHost) {
			h.Labels = map[string]string{infrav1.NeedsResetLabel: "true"}
		}, 403, "reset"),
		Entry("from a host that is bootstrapped", func(h *infrav1.ElementalHost) {
			h.Labels = map[string]string{infrav1.BootstrappedLabel: "true"}
		}, 403, "is bootstrapped"),
	)

	It("is the Machine's, whatever Secret an ElementalHost names", func(ctx SpecContext) {
		who := makeServed(ctx)
		who.makeSecret(ctx, "shop-kubeconfig", "keys of the cluster", owned("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", "shop", true))
		who.host.change(ctx, func(h *infrav1.ElementalHost) { h.Spec.BootstrapSecret.Name = "shop-kubeconfig" })
		Expect(into[wire.Bootstrap](who.host.get(ctx, "/bootstrap")).Config).To(Equal("#cloud-config\n"))
	})

	It("is what the Machine names by now", func(ctx SpecContext) {
		who := makeServed(ctx)
		who.makeSecret(ctx, "boot-2", "renewed", who.secret.OwnerReferences...)
		who.changeMachine(ctx, func(spec *clusterv1.MachineSpec) { spec.Bootstrap.DataSecretName = ptr.To("boot-2") })
		Expect(into[wire.Bootstrap](who.host.get(ctx, "/bootstrap")).Config).To(Equal("renewed"))
	})

	It("is unpacked where its provider has compressed it", func(ctx SpecContext) {
		who := makeServed(ctx)
		largest := strings.Repeat("#", corev1.MaxSecretSize)
		who.makeSecret(ctx, "boot-2", compressed(largest), who.secret.OwnerReferences...)
		who.changeMachine(ctx, func(spec *clusterv1.MachineSpec) { spec.Bootstrap.DataSecretName = ptr.To("boot-2") })
		Expect(into[wire.Bootstrap](who.host.get(ctx, "/bootstrap")).Config).To(Equal(largest))
	})

	DescribeTable("is withheld, and operators are told, where the host could not have its bytes",
		func(ctx SpecContext, value, reason string) {
			who := makeServed(ctx)
			who.makeSecret(ctx, "boot-2", value, who.secret.OwnerReferences...)
			who.changeMachine(ctx, func(spec *clusterv1.MachineSpec) { spec.Bootstrap.DataSecretName = ptr.To("boot-2") })
			Expect(who.host.get(ctx, "/bootstrap").status).To(Equal(http.StatusForbidden))
			Expect(told()).To(ConsistOf(HavePrefix("Warning BootstrapWithheld The host was refused bootstrap data: the value of Secret boot-2 is " + reason)))
		},
		Entry("binary", "#cloud-config\n# \xff", "not text in UTF-8: encode binary content with base64"),
		Entry("compressed and binary", compressed("\xff"), "not text in UTF-8"),
		Entry("cut off", compressed("#cloud-config")[:20], "compressed and cannot be unpacked: unexpected EOF"),
		Entry("larger than a Secret", compressed(strings.Repeat("#", corev1.MaxSecretSize+1)), "compressed and cannot be unpacked: it is larger than 1048576 bytes"),
	)

	It("is withheld, and operators are told, from a host that only says itself that it serves a machine", func(ctx SpecContext) {
		who := makeServed(ctx)
		who.neighbour.change(ctx, associate)
		refused := who.neighbour.get(ctx, "/bootstrap")
		Expect(refused.status).To(Equal(http.StatusForbidden))
		Expect(refused.message()).To(Equal(
			"bootstrap data are withheld from host m-2: an operator finds the reason in the Events of its ElementalHost"))
		Expect(told()).To(ConsistOf(HavePrefix(
			"Warning BootstrapWithheld The host was refused bootstrap data: ElementalMachine em-1 does not name ElementalHost m-2 (asked from 127.0.0.1:")))
	})

	DescribeTable("is withheld, and operators are told, of a Secret that is no bootstrap data of the Machine",
		func(ctx SpecContext, name string, owners []metav1.OwnerReference, change func(*clusterv1.Bootstrap), reason string) {
			who := makeServed(ctx)
			who.makeSecret(ctx, name, "secret", owners...)
			who.changeMachine(ctx, func(spec *clusterv1.MachineSpec) {
				spec.Bootstrap.DataSecretName = ptr.To(name)
				change(&spec.Bootstrap)
			})
			refused := who.host.get(ctx, "/bootstrap")
			Expect(refused.status).To(Equal(http.StatusForbidden), "%s", refused.body)
			Expect(refused.message()).NotTo(ContainSubstring(name))
			Expect(told()).To(ConsistOf(And(
				HavePrefix("Warning BootstrapWithheld The host was refused bootstrap data: Secret "+name+", which spec.bootstrap.dataSecretName of Machine machine-1 names, "),
				ContainSubstring(reason))))
		},
		Entry("without a controller", "other", nil, byConfig, "is not controlled by KubeadmConfig config-1, its spec.bootstrap.configRef"),
		Entry("of another config", "other", []metav1.OwnerReference{owned("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", "config-2", true)}, byConfig,
			"is not controlled by KubeadmConfig config-1"),
		Entry("of a config of another kind", "other", []metav1.OwnerReference{owned("bootstrap.cluster.x-k8s.io/v1beta2", "RKE2Config", "config-1", true)}, byConfig,
			"is not controlled by KubeadmConfig config-1"),
		Entry("of a config of another group", "other", []metav1.OwnerReference{owned("example.com/v1", "KubeadmConfig", "config-1", true)}, byConfig,
			"is not controlled by KubeadmConfig config-1"),
		Entry("of an owner that does not control it", "other", []metav1.OwnerReference{owned("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", "config-1", false)}, byConfig,
			"is not controlled by KubeadmConfig config-1"),
		Entry("that is a control plane's, though the Machine says that this is its config", "shop-token",
			[]metav1.OwnerReference{owned("controlplane.cluster.x-k8s.io/v1beta1", "RKE2ControlPlane", "shop", true)},
			func(bootstrap *clusterv1.Bootstrap) {
				bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "RKE2ControlPlane", Name: "shop"}
			}, "belongs to RKE2ControlPlane shop"),
		Entry("that a Cluster owns", "other", []metav1.OwnerReference{owned("cluster.x-k8s.io/v1beta2", "Cluster", "shop", false)}, byHand, "belongs to Cluster shop"),
		Entry("that is called as a kubeconfig", "shop-kubeconfig", nil, byHand, "has the name of a cluster's kubeconfig or keys"),
		Entry("that is called as an authority", "shop-ca", nil, byHand, "has the name of a cluster's kubeconfig or keys"),
		Entry("that is called as etcd's authority", "shop-etcd", nil, byHand, "has the name of a cluster's kubeconfig or keys"),
		Entry("that is called as the keys of service accounts", "shop-sa", nil, byHand, "has the name of a cluster's kubeconfig or keys"),
		Entry("that is called as the proxy's authority", "shop-proxy", nil, byHand, "has the name of a cluster's kubeconfig or keys"),
		Entry("that was made for another Machine", "other", []metav1.OwnerReference{owned("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", "config-2", true)}, byHand,
			"belongs to KubeadmConfig config-2, which is not in its spec.bootstrap.configRef"),
	)

	It("may be made by hand, and owned by who made it", func(ctx SpecContext) {
		who := makeServed(ctx)
		who.makeSecret(ctx, "by-hand", "by hand", owned("external-secrets.io/v1", "ExternalSecret", "by-hand", true))
		who.changeMachine(ctx, func(spec *clusterv1.MachineSpec) {
			byHand(&spec.Bootstrap)
			spec.Bootstrap.DataSecretName = ptr.To("by-hand")
		})
		Expect(into[wire.Bootstrap](who.host.get(ctx, "/bootstrap")).Config).To(Equal("by hand"))
	})

	It("is not there any more when the Machine is going, which is nothing to tell", func(ctx SpecContext) {
		who := makeServed(ctx)
		Expect(plane.Client.Delete(ctx, who.owner)).To(Succeed())
		Expect(who.host.get(ctx, "/bootstrap").status).To(Equal(http.StatusNotFound))
		Expect(told()).To(BeEmpty())
	})

	It("is handed out until the host says that it has applied it, and not after that", func(ctx SpecContext) {
		who := makeServed(ctx)
		for range 2 {
			Expect(who.host.get(ctx, "/bootstrap").status).To(Equal(http.StatusOK), "the host may have been killed before it applied it")
		}
		Expect(who.host.report(ctx, wire.Report{Phase: wire.HostRunning, Installed: true, Bootstrapped: true}).status).To(Equal(http.StatusNoContent))
		Expect(who.host.get(ctx, "/bootstrap").status).To(Equal(http.StatusForbidden))
	})

	It("is not for who held the name before", func(ctx SpecContext) {
		who := makeServed(ctx)
		who.host.remove(ctx)
		heir := registered(ctx, who.endpoint, "m-1")
		heir.change(ctx, associate)
		Expect(who.host.get(ctx, "/bootstrap").status).To(Equal(http.StatusUnauthorized))
	})
})

// byConfig leaves a Machine to its bootstrap provider.
func byConfig(*clusterv1.Bootstrap) {}

// byHand makes a Machine one whose bootstrap data a person wrote.
func byHand(bootstrap *clusterv1.Bootstrap) {
	bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{}
}
