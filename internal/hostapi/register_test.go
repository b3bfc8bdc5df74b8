// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var _ = Describe("Registering a host", func() {
	It("tells what the registration configures", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) {
			spec.HostLabels = map[string]string{"rack": "r1"}
			spec.HostAnnotations = map[string]string{"owner": "ops"}
			spec.ImageVerification = signedFor
			spec.Config.CloudConfig = map[string]runtime.RawExtension{"users": {Raw: []byte(`[{"name":"root"}]`)}}
		})
		told := into[wire.Registration](get(ctx, endpoint, "", asRegistration(endpoint)))
		Expect(told.HostLabels).To(Equal(map[string]string{"rack": "r1"}))
		Expect(told.HostAnnotations).To(Equal(map[string]string{"owner": "ops"}))
		Expect(told.ImageVerification).To(Equal(signedBy))
		config := infrav1.RegistrationConfig{}
		Expect(json.Unmarshal(told.Config, &config)).To(Succeed())
		Expect(config.Elemental.Registration).To(Equal(infrav1.Registration{URI: endpoint.URI, CACert: "authorities of the controller"}))
		Expect(config.CloudConfig["users"].Raw).To(MatchJSON(`[{"name":"root"}]`))
	})

	It("hands out no configuration without an address, as after a move", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		registration := &infrav1.ElementalRegistration{}
		Expect(plane.Client.Get(ctx, client.ObjectKey{Namespace: endpoint.Namespace, Name: endpoint.Name}, registration)).To(Succeed())
		written := registration.Status
		apiserver.ChangeStatus(ctx, plane.Client, registration, func() { registration.Status = infrav1.ElementalRegistrationStatus{} })
		var refused answer
		Eventually(func() int {
			refused = get(ctx, endpoint, "", asRegistration(endpoint))
			return refused.status
		}).Should(Equal(http.StatusServiceUnavailable))
		Expect(refused.message()).To(Equal("ElementalRegistration " + endpoint.Namespace + "/edge has no address yet, try again"))
		Expect(refused.header.Get("Retry-After")).NotTo(BeEmpty())
		apiserver.ChangeStatus(ctx, plane.Client, registration, func() { registration.Status = written })
		Eventually(func() int { return get(ctx, endpoint, "", asRegistration(endpoint)).status }).Should(Equal(http.StatusOK))
	})

	It("tells the address that an operator has set, and no token that stands in spec, and serves hosts that use it", func(ctx SpecContext) {
		const balanced = "https://balancer.example.com/edge"
		set := infrav1.Registration{URI: balanced, CACert: "balancer's"}
		endpoint := openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) {
			spec.Config.Elemental.Registration = set
			spec.Config.Elemental.Registration.Token = "stored by version 0.7"
		})
		raw, err := token.SignRegistrationToken(endpoint.SigningKey, balanced, time.Now(), time.Hour)
		Expect(err).NotTo(HaveOccurred())
		presented := header{wire.RegistrationHeader, "Bearer " + raw}
		told := into[wire.Registration](get(ctx, endpoint, "", presented))
		config := infrav1.RegistrationConfig{}
		Expect(json.Unmarshal(told.Config, &config)).To(Succeed())
		Expect(config.Elemental.Registration).To(Equal(set))

		behind := *endpoint
		behind.URI = balanced
		host := newMachine(&behind, "m-1")
		Expect(request(ctx, shared, http.MethodPost, endpoint.URI+"/hosts", host.create(), presented, host.auth()).status).To(Equal(http.StatusCreated))
	})

	It("serves hosts that know the registration by an endpoint it had before", func(ctx SpecContext) {
		endpoint, err := apitest.OpenRegistration(ctx, plane, "https://old.example.com:9090", "edge", infrav1.ElementalRegistrationSpec{})
		Expect(err).NotTo(HaveOccurred())
		host := newMachine(endpoint, "m-1")
		body, auth := host.create(), host.auth()
		url := api.Endpoint + strings.TrimPrefix(endpoint.URI, "https://old.example.com:9090")
		Eventually(func() int {
			return request(ctx, shared, http.MethodPost, url+"/hosts", body, asRegistration(endpoint), auth).status
		}).Should(Equal(http.StatusCreated))
		Expect(request(ctx, shared, http.MethodGet, url+"/hosts/m-1/desired", nil, auth).status).To(Equal(http.StatusOK))
	})

	It("gives a host to the manager that looks after its registration, unless its labels say otherwise", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		registration := &infrav1.ElementalRegistration{}
		Expect(plane.Client.Get(ctx, client.ObjectKey{Namespace: endpoint.Namespace, Name: endpoint.Name}, registration)).To(Succeed())
		label := func(labels, hostLabels map[string]string) {
			GinkgoHelper()
			before := registration.DeepCopy()
			registration.Labels, registration.Spec.HostLabels = labels, hostLabels
			Expect(plane.Client.Patch(ctx, registration, client.MergeFrom(before))).To(Succeed())
		}
		hosts := 0
		watchLabel := func() string {
			hosts++
			return registered(ctx, endpoint, fmt.Sprintf("m-%d", hosts)).object(ctx).Labels[clusterv1.WatchLabel]
		}
		Expect(watchLabel()).To(BeEmpty())
		label(map[string]string{clusterv1.WatchLabel: "mine"}, nil)
		Eventually(watchLabel).Should(Equal("mine"))
		label(registration.Labels, map[string]string{clusterv1.WatchLabel: "other"})
		Eventually(watchLabel).Should(Equal("other"))
	})

	It("makes a host that an operator has to approve", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) {
			spec.HostLabels = map[string]string{"rack": "r1"}
			spec.HostAnnotations = map[string]string{"owner": "ops"}
			spec.ImageVerification = signedFor
		})
		host := newMachine(endpoint, "m-1")
		body := host.create()
		body.Labels = map[string]string{"rack": "mine", "serial": "s-1"}
		body.Annotations = map[string]string{"note": "any text: ok"}

		created := host.register(ctx, body)
		Expect(created.status).To(Equal(http.StatusCreated))
		Expect(created.header.Get("Location")).To(Equal("/elemental/v1/namespaces/" + endpoint.Namespace + "/registrations/edge/hosts/m-1"))
		object := host.object(ctx)
		Expect(object.Spec.Approved).To(BeFalse())
		Expect(object.Spec.PubKey).To(Equal(host.pubKey()))
		Expect(object.Spec.ImageVerification).To(Equal(signedFor), "no host is upgraded by laxer rules than it was installed by")
		Expect(object.Labels).To(Equal(map[string]string{"rack": "r1", "serial": "s-1"}))
		Expect(object.Annotations).To(Equal(map[string]string{
			"owner": "ops", "note": "any text: ok",
			infrav1.RegistrationNameAnnotation:      "edge",
			infrav1.RegistrationNamespaceAnnotation: endpoint.Namespace,
			infrav1.ProposedLabelsAnnotation:        "serial",
		}))
		Expect(object.Generation).To(BeEquivalentTo(1))
		Expect(object.ManagedFields).To(HaveLen(1), "one write, by one writer")
	})

	It("fills what the firmware says into the registration's labels, which then are the registration's", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) {
			spec.HostLabels = map[string]string{
				"id": "id-${System Information/UUID}", "vendor": "${System Information/Manufacturer}", "family": "${System Information/Family}",
			}
			spec.HostAnnotations = map[string]string{"vendor": "${System Information/Manufacturer}"}
		})
		host := newMachine(endpoint, "m-1")
		body := host.create()
		body.SMBIOS = map[string]string{"System Information/UUID": "4C4C4544", "System Information/Manufacturer": "ACME, Inc."}
		body.Labels = map[string]string{"id": "mine", "family": "mine", "${System Information/UUID}": "x"}
		Expect(host.register(ctx, body).status).To(Equal(http.StatusBadRequest), "a host has no templates")
		delete(body.Labels, "${System Information/UUID}")
		Expect(host.register(ctx, body).status).To(Equal(http.StatusCreated))

		object := host.object(ctx)
		Expect(object.Labels).To(Equal(map[string]string{"id": "id-4C4C4544", "vendor": "ACME-Inc", "family": "mine"}))
		Expect(object.Annotations).To(And(HaveKeyWithValue("vendor", "ACME, Inc."),
			HaveKeyWithValue(infrav1.ProposedLabelsAnnotation, "family")), "a label that could not be filled is not the registration's")
	})

	It("approves a host where the registration says so", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) { spec.Approval = infrav1.ApprovalAuto })
		Expect(registered(ctx, endpoint, "m-1").object(ctx).Spec.Approved).To(BeTrue())
	})

	It("finds the same host when it is asked again, and writes nothing", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		host := registered(ctx, endpoint, "m-1")
		before := world(ctx, endpoint.Namespace)

		again := host.create()
		again.PubKey = strings.TrimSpace(again.PubKey)
		repeated := host.register(ctx, again)
		Expect(repeated.status).To(Equal(http.StatusCreated))
		Expect(repeated.header.Get("Location")).To(HaveSuffix("/hosts/m-1"))
		Expect(world(ctx, endpoint.Namespace)).To(Equal(before))
	})

	It("refuses a name that a host with another key has", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		registered(ctx, endpoint, "m-1")
		before := world(ctx, endpoint.Namespace)
		thief := newMachine(endpoint, "m-1")
		refused := thief.register(ctx, thief.create())
		Expect(refused.status).To(Equal(http.StatusConflict))
		Expect(refused.message()).To(ContainSubstring("another key"))
		Expect(world(ctx, endpoint.Namespace)).To(Equal(before))
	})

	It("refuses a host of another registration", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		host := registered(ctx, endpoint, "m-1")
		host.change(ctx, func(object *infrav1.ElementalHost) {
			object.Annotations[infrav1.RegistrationNameAnnotation] = "core"
		})
		refused := host.register(ctx, host.create())
		Expect(refused.status).To(Equal(http.StatusConflict))
		Expect(refused.message()).To(ContainSubstring(`registration "core"`))
	})

	It("makes one host of many requests at once", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		host := newMachine(endpoint, "m-1")
		body := host.create()
		statuses := make([]int, 20)
		var all sync.WaitGroup
		for i := range statuses {
			all.Go(func() { statuses[i] = host.register(ctx, body).status })
		}
		all.Wait()
		Expect(statuses).To(HaveEach(http.StatusCreated))
		Expect(world(ctx, endpoint.Namespace)).To(HaveLen(1))
	})

	It("says so when the registration's own labels are not valid", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) {
			spec.HostLabels = map[string]string{"vendor": "ACME, Inc."}
		})
		host := newMachine(endpoint, "m-1")
		refused := host.register(ctx, host.create())
		Expect(refused.status).To(Equal(http.StatusBadRequest))
		Expect(refused.message()).To(ContainSubstring("metadata.labels"))
	})

	DescribeTable("refuses what is not well-formed, and makes nothing of it",
		func(ctx SpecContext, change func(*wire.HostCreate), reason string) {
			endpoint := openRegistration(ctx, nil)
			host := newMachine(endpoint, "m-1")
			body := host.create()
			change(&body)
			host.name = body.Name
			refused := host.register(ctx, body)
			Expect(refused.status).To(Equal(http.StatusBadRequest))
			Expect(refused.message()).To(ContainSubstring(reason))
			Expect(world(ctx, endpoint.Namespace)).To(BeEmpty())
		},
		Entry("no name", func(b *wire.HostCreate) { b.Name = "" }, "name is"),
		Entry("upper case", func(b *wire.HostCreate) { b.Name = "M-1" }, "name is"),
		Entry("too long", func(b *wire.HostCreate) { b.Name = strings.Repeat("m", 64) }, "at most 63"),
		Entry("a path", func(b *wire.HostCreate) { b.Name = "../m-1" }, "name is"),
		Entry("unknown SMBIOS", func(b *wire.HostCreate) { b.SMBIOS = map[string]string{"System": "x"} }, `smbios "System" is not known`),
		Entry("endless SMBIOS", func(b *wire.HostCreate) {
			b.SMBIOS = map[string]string{"System Information/UUID": strings.Repeat("x", 257)}
		}, "longer than 256 bytes"),
		Entry("no key", func(b *wire.HostCreate) { b.PubKey = "" }, "pubKey is not"),
		Entry("two keys", func(b *wire.HostCreate) { b.PubKey += b.PubKey }, "more follows"),
		Entry("labels that fill etcd", func(b *wire.HostCreate) {
			b.Labels = map[string]string{}
			for n := range 500 {
				b.Labels[fmt.Sprint(n)] = ""
			}
		}, "labels and annotations have 4391 bytes together, at most 4096 are taken"),
		Entry("annotations that fill etcd", func(b *wire.HostCreate) {
			b.Labels = map[string]string{"serial": "s-1"}
			b.Annotations = map[string]string{"note": strings.Repeat("x", 4096-26)}
		}, "labels and annotations have"),
		Entry("annotations that are longer as they are stored", func(b *wire.HostCreate) {
			b.Annotations = map[string]string{"note": strings.Repeat("\x01", 1000)}
		}, "labels and annotations have 6011 bytes"),
		Entry("label without a name", func(b *wire.HostCreate) { b.Labels = map[string]string{"a b": "c"} }, `label "a b" is not valid`),
		Entry("label with a bad value", func(b *wire.HostCreate) { b.Labels = map[string]string{"a": "b c"} }, `value of label "a"`),
		Entry("label: installed", smuggleLabel(infrav1.InstalledLabel), `label "`+infrav1.InstalledLabel+`" is in a reserved domain`),
		Entry("label: trigger", smuggleLabel(infrav1.InPlaceUpgradeLabel), "reserved"),
		Entry("label: cluster", smuggleLabel("cluster.x-k8s.io/cluster-name"), "reserved"),
		Entry("label: node role", smuggleLabel("node-role.kubernetes.io/control-plane"), "reserved"),
		Entry("label: kubernetes.io itself", smuggleLabel("kubernetes.io/hostname"), "reserved"),
		Entry("label: k8s.io", smuggleLabel("sub.k8s.io/x"), "reserved"),
		Entry("label: in capitals", smuggleLabel("Cluster.X-K8s.io/x"), "reserved"),
		Entry("annotation: registration", smuggleAnnotation(infrav1.RegistrationNameAnnotation), "reserved"),
		Entry("annotation: attempt", smuggleAnnotation(infrav1.LastAttemptAnnotation), "reserved"),
		Entry("annotation: block-move", smuggleAnnotation(infrav1.BlockMoveAnnotation), "reserved"),
		Entry("annotation: paused", smuggleAnnotation("cluster.x-k8s.io/paused"), "reserved"),
	)

	It("does not take a domain that only ends alike for a reserved one", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		host := newMachine(endpoint, "m-1")
		body := host.create()
		body.Labels = map[string]string{"notkubernetes.io/x": "y"}
		Expect(host.register(ctx, body).status).To(Equal(http.StatusCreated))
	})
})

func smuggleLabel(key string) func(*wire.HostCreate) {
	return func(body *wire.HostCreate) { body.Labels = map[string]string{key: "true"} }
}

func smuggleAnnotation(key string) func(*wire.HostCreate) {
	return func(body *wire.HostCreate) { body.Annotations = map[string]string{key: "true"} }
}

// hostsOf registers several hosts.
func hostsOf(ctx context.Context, endpoint *apitest.RegistrationEndpoint, names ...string) []*machine {
	GinkgoHelper()
	hosts := make([]*machine, 0, len(names))
	for _, name := range names {
		hosts = append(hosts, registered(ctx, endpoint, name))
	}
	return hosts
}
