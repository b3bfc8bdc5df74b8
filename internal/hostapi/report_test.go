// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const resolved = "sha256:2222222222222222222222222222222222222222222222222222222222222222"

// everything is a report with every field set.
func everything() wire.Report {
	return wire.Report{
		AgentVersion: "v0.8.0", Phase: wire.HostReconcilingOSVersion, Message: "writing", VolatileWorkDir: "/var is in memory",
		Installed: true, Bootstrapped: true,
		Addresses: []wire.Address{{Type: "Hostname", Address: "m-1"}, {Type: "InternalIP", Address: "10.0.0.1"}},
		OS: wire.OS{
			ImageURI: "oci://r/os:1", Digest: "sha256:1", Snapshot: 3, BootMode: "active", BootID: "b-1", Version: "OS 1", FreeBytes: 7,
		},
		Upgrade: &wire.Attempt{
			Attempt: "a-1", Phase: wire.PhaseApplying, Digest: resolved, ImageBytes: 8, FreeBytes: 9, FromBootID: "b-0",
			Healthy: true, Message: "half", Progress: &wire.Progress{Stage: wire.StageDownload, Bytes: 4, TotalBytes: 8},
			Checks: []wire.Check{
				{Name: "kubelet", Verdict: wire.CheckPassed, Since: looked},
				{Name: "required.d/10-disk", Verdict: wire.CheckFailed, Since: looked, ExitCode: new(int32), Output: "full"},
			},
		},
	}
}

// looked is when a host was looked at.
var looked = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func stored() infrav1.ElementalHostStatus {
	return infrav1.ElementalHostStatus{
		Phase: infrav1.HostPhaseReconcilingOSVersion, Message: "writing", Installed: true, Bootstrapped: true,
		Addresses: []clusterv1.MachineAddress{
			{Type: clusterv1.MachineHostName, Address: "m-1"}, {Type: clusterv1.MachineInternalIP, Address: "10.0.0.1"},
		},
		OS: infrav1.HostOS{
			ImageURI: "oci://r/os:1", Digest: "sha256:1", Snapshot: 3, BootMode: "active", BootID: "b-1", Version: "OS 1", FreeBytes: 7,
		},
		Agent:   infrav1.HostAgent{Version: "v0.8.0", VolatileWorkDir: "/var is in memory"},
		BootIDs: []string{"b-1"},
		Upgrade: &infrav1.HostUpgradeStatus{
			Attempt: "a-1", Phase: infrav1.HostUpgradeApplying, Digest: resolved, ImageBytes: 8, FreeBytes: 9, FromBootID: "b-0",
			Healthy: true, Message: "half", Progress: &infrav1.HostUpgradeProgress{Stage: "Download", Bytes: 4, TotalBytes: 8},
			Checks: []infrav1.HostCheck{
				{Name: "kubelet", Verdict: infrav1.HostCheckPassed, Since: metav1.NewTime(looked.Local())},
				{Name: "required.d/10-disk", Verdict: infrav1.HostCheckFailed, Since: metav1.NewTime(looked.Local()), ExitCode: new(int32), Output: "full"},
			},
		},
	}
}

var _ = Describe("A report", func() {
	var (
		endpoint *apitest.RegistrationEndpoint
		host     *machine
	)

	BeforeEach(func(ctx SpecContext) {
		// Approved, since what others say is stored once a minute.
		endpoint = openRegistration(ctx, approveAll)
		host = registered(ctx, endpoint, "m-1")
	})

	status := func(ctx context.Context) infrav1.ElementalHostStatus {
		GinkgoHelper()
		found := host.object(ctx).Status
		found.Agent.LastSeen = metav1.Time{}
		return found
	}
	send := func(ctx context.Context, what wire.Report) {
		GinkgoHelper()
		sent := host.report(ctx, what)
		Expect(sent.status).To(Equal(http.StatusNoContent), "body %s", sent.body)
	}

	It("is the whole of what is stored, but for the conditions and former boots", func(ctx SpecContext) {
		object := host.object(ctx)
		object.SetConditions([]metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.NewTime(time.Unix(1, 0)),
		}})
		Expect(plane.Client.Status().Update(ctx, object)).To(Succeed())

		send(ctx, everything())
		found := status(ctx)
		Expect(found.Conditions).To(HaveLen(1))
		found.Conditions = nil
		Expect(found).To(Equal(stored()))
		Expect(host.object(ctx).Status.Agent.LastSeen.Time).To(BeTemporally("~", time.Now(), time.Minute))

		send(ctx, wire.Report{Phase: wire.HostRunning, Upgrade: &wire.Attempt{Attempt: "a-2", Phase: wire.PhaseAcknowledged}})
		found = status(ctx)
		Expect(found.Conditions).To(HaveLen(1))
		found.Conditions = nil
		Expect(found).To(Equal(infrav1.ElementalHostStatus{
			Phase:   infrav1.HostPhaseRunning,
			BootIDs: []string{"b-1"},
			Upgrade: &infrav1.HostUpgradeStatus{Attempt: "a-2", Phase: infrav1.HostUpgradeAcknowledged},
		}))
		Expect(host.object(ctx).Spec.PubKey).NotTo(BeEmpty())
	})

	It("is written when it says something new, and only then", func(ctx SpecContext) {
		send(ctx, everything())
		before, unchanged := world(ctx, endpoint.Namespace), counter("elemental_hostapi_reports_total", "result", "unchanged")
		for range 5 {
			send(ctx, everything())
		}
		Expect(world(ctx, endpoint.Namespace)).To(Equal(before))
		Expect(counter("elemental_hostapi_reports_total", "result", "unchanged")).To(Equal(unchanged + 5))

		other := everything()
		other.OS.BootID = "b-2"
		send(ctx, other)
		Expect(status(ctx).OS.BootID).To(Equal("b-2"))
		// Back at once: the cache may still show the first.
		send(ctx, everything())
		Expect(status(ctx).OS.BootID).To(Equal("b-1"))
	})

	It("is written again when somebody changed what it said", func(ctx SpecContext) {
		send(ctx, everything())
		object := host.object(ctx)
		object.Status.Phase = infrav1.HostPhaseRunning
		Expect(plane.Client.Status().Update(ctx, object)).To(Succeed())
		Eventually(func(g Gomega) {
			send(ctx, everything())
			g.Expect(status(ctx).Phase).To(Equal(infrav1.HostPhaseReconcilingOSVersion))
		}).Should(Succeed())
	})

	It("of many at once leaves the last, with few writes", func(ctx SpecContext) {
		const reports = 200
		written, coalesced := counter("elemental_hostapi_reports_total", "result", "written"), counter("elemental_hostapi_reports_total", "result", "coalesced")
		statuses := make([]int, reports)
		var all sync.WaitGroup
		for i := range reports {
			all.Go(func() {
				one := everything()
				one.Message = fmt.Sprint(i)
				statuses[i] = host.report(ctx, one).status
			})
		}
		all.Wait()
		Expect(statuses).To(HaveEach(http.StatusNoContent))
		last := everything()
		last.Message = "last"
		send(ctx, last)
		Expect(status(ctx).Message).To(Equal("last"))
		written, coalesced = counter("elemental_hostapi_reports_total", "result", "written")-written, counter("elemental_hostapi_reports_total", "result", "coalesced")-coalesced
		Expect(written + coalesced).To(BeEquivalentTo(reports + 1))
		Expect(coalesced).To(BeNumerically(">", 0))
	})

	It("is cut where it is a message, and cleaned of what moves a terminal", func(ctx SpecContext) {
		what := everything()
		what.Message = "\x1b[2Jbad\nline " + strings.Repeat("é", 1024)
		send(ctx, what)
		found := status(ctx).Message
		Expect(found).To(HavePrefix("[2Jbad line é"))
		Expect(len(found)).To(BeNumerically("~", 1024, 1))
		Expect(found).To(HaveSuffix("é"))
	})

	It("does not reach a host that got the name since", func(ctx SpecContext) {
		waiting, _ := host.idle(ctx)
		host.remove(ctx)
		Eventually(waiting.answered).Should(Receive())
		Expect(host.report(ctx, everything()).status).To(Equal(http.StatusNotFound))
		heir := registered(ctx, endpoint, "m-1")
		Eventually(func() int { return host.report(ctx, everything()).status }).Should(Equal(http.StatusUnauthorized))
		Expect(heir.object(ctx).Status).To(Equal(infrav1.ElementalHostStatus{}))
	})

	It("is stored by an API server that takes longer than a body may", func(ctx SpecContext) {
		slow := startAPI(func(options *hostapi.Options) {
			options.Endpoint, options.BodyTimeout = api.Endpoint, bodyTimeout
			options.Client = interceptor.NewClient(plane.Client, interceptor.Funcs{SubResourcePatch: lateBy(2 * bodyTimeout)})
		})
		url := slow.Address + strings.TrimPrefix(host.url("/report"), api.Endpoint)
		sent := request(ctx, newHTTPClient(slow), http.MethodPost, url, everything(), host.auth())
		Expect(sent.status).To(Equal(http.StatusNoContent), "body %s", sent.body)
		Expect(status(ctx)).To(Equal(stored()))
	})

	It("that was under way when the name changed hands is answered so, and put right by the heir", func(ctx SpecContext) {
		ancestor := host.object(ctx)
		ancestor.UID = "of-the-host-before"
		refused := hostapi.StoreReport(ctx, plane.Client, ancestor, stored())
		Expect(hostapi.StatusOf(refused)).To(Equal(http.StatusConflict))

		Eventually(func(g Gomega) {
			send(ctx, wire.Report{Phase: wire.HostRunning})
			g.Expect(status(ctx)).To(Equal(infrav1.ElementalHostStatus{Phase: infrav1.HostPhaseRunning, BootIDs: []string{"b-1"}}))
		}).Should(Succeed())
	})

	It("leaves the last boots behind, the present one first, each as often as it began", func(ctx SpecContext) {
		for _, boot := range []string{"a", "a", "b", "", "a", "c"} {
			Expect(host.report(ctx, wire.Report{Phase: wire.HostRunning, OS: wire.OS{BootID: boot}}).status).To(BeNumerically("<", 300))
		}
		Expect(status(ctx).BootIDs).To(Equal([]string{"c", "a", "b"}))
	})

	DescribeTable("is refused when a field is not what it may be",
		func(ctx SpecContext, change func(*wire.Report), reason string) {
			before := world(ctx, endpoint.Namespace)
			what := everything()
			change(&what)
			refused := host.report(ctx, what)
			Expect(refused.status).To(Equal(http.StatusBadRequest))
			Expect(refused.message()).To(ContainSubstring(reason))
			Expect(world(ctx, endpoint.Namespace)).To(Equal(before))
		},
		Entry("phase", func(r *wire.Report) { r.Phase = "Dancing" }, `phase is "Dancing"`),
		Entry("agentVersion", func(r *wire.Report) { r.AgentVersion = strings.Repeat("v", 257) }, "agentVersion has 257 bytes"),
		Entry("boot mode", func(r *wire.Report) { r.OS.BootMode = "aktiv" }, "os.bootMode"),
		Entry("snapshot", func(r *wire.Report) { r.OS.Snapshot = -1 }, "os.snapshot is -1"),
		Entry("control characters", func(r *wire.Report) { r.OS.Version = "a\nb" }, "os.version has control, bidirectional or invisible characters"),
		Entry("text that is shown from right to left", func(r *wire.Report) { r.OS.Version = "good\u202etuo" }, "os.version has control, bidirectional or invisible"),
		Entry("characters that nobody sees", func(r *wire.Report) { r.AgentVersion = "v1.0\u200b" }, "agentVersion has control, bidirectional or invisible"),
		Entry("a separator of lines", func(r *wire.Report) { r.Upgrade.Attempt = "a\u2028b" }, "upgrade.attempt has control, bidirectional or invisible"),
		Entry("image", func(r *wire.Report) { r.OS.ImageURI = strings.Repeat("v", 1025) }, "os.imageURI"),
		Entry("free bytes", func(r *wire.Report) { r.OS.FreeBytes = -1 }, "os.freeBytes"),
		Entry("bytes", func(r *wire.Report) { r.Upgrade.Progress.Bytes = -1 }, "upgrade.progress.bytes is -1"),
		Entry("all bytes", func(r *wire.Report) { r.Upgrade.Progress.TotalBytes = -1 }, "upgrade.progress.totalBytes is -1"),
		Entry("address type", func(r *wire.Report) { r.Addresses[0].Type = "Public" }, "addresses.type"),
		Entry("empty address", func(r *wire.Report) { r.Addresses[0].Address = "" }, "addresses.address is empty"),
		Entry("an IP address that is none", func(r *wire.Report) { r.Addresses[0] = wire.Address{Type: "InternalIP", Address: "10.0.0.1:6443"} },
			`addresses.address "10.0.0.1:6443" of type InternalIP is not an IP address`),
		Entry("an IP address of one of the host's interfaces", func(r *wire.Report) { r.Addresses[0] = wire.Address{Type: "ExternalIP", Address: "fe80::1%eth0"} },
			`addresses.address "fe80::1%eth0" of type ExternalIP is not an IP address`),
		Entry("a host name that is none", func(r *wire.Report) { r.Addresses[0] = wire.Address{Type: "Hostname", Address: "a b"} },
			`addresses.address "a b" of type Hostname is not a host name`),
		Entry("too many addresses", func(r *wire.Report) { r.Addresses = make([]wire.Address, 33) }, "addresses has 33 entries"),
		Entry("attempt", func(r *wire.Report) { r.Upgrade.Attempt = "" }, "upgrade.attempt is empty"),
		Entry("attempt phase", func(r *wire.Report) { r.Upgrade.Phase = "Done" }, "upgrade.phase"),
		Entry("digest that is none", func(r *wire.Report) { r.Upgrade.Digest = "sha256:2" },
			`upgrade.digest is "sha256:2", want sha256:<64 hex digits>`),
		Entry("digest with something behind it", func(r *wire.Report) { r.Upgrade.Digest += "@x" }, "upgrade.digest"),
		Entry("image bytes", func(r *wire.Report) { r.Upgrade.ImageBytes = -5 }, "upgrade.imageBytes"),
	)
})

// lateBy delays what is patched, and patches it all the same.
func lateBy(delay time.Duration) func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return func(
		ctx context.Context, to client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
	) error {
		<-time.After(delay)
		return to.SubResource(part).Patch(ctx, object, patch, options...)
	}
}

var _ = Describe("A host that says it resets itself", func() {
	var host *machine

	BeforeEach(func(ctx SpecContext) {
		host = registered(ctx, openRegistration(ctx, nil), "m-1")
	})
	taken := func(object *infrav1.ElementalHost) {
		object.Spec.MachineRef = &infrav1.LocalReference{Name: "em-1"}
	}

	asked := func(object *infrav1.ElementalHost) {
		taken(object)
		object.Labels = map[string]string{infrav1.NeedsResetLabel: "true"}
	}

	It("is gone at once when it has nothing to wipe: nobody has trusted it with anything, and no key of its making is denied", func(ctx SpecContext) {
		By("saying that it is part of a cluster")
		Expect(host.report(ctx, wire.Report{Phase: wire.HostResetting, Bootstrapped: true}).status).To(Equal(http.StatusNoContent))
		Expect(host.forget(ctx).status).To(Equal(http.StatusAccepted))
		Expect(world(ctx, host.endpoint.Namespace)).To(BeEmpty())
		Eventually(func() int { return host.wiped(ctx).status }).Should(Equal(http.StatusNotFound))
		Eventually(func() int { return host.register(ctx, host.create()).status }).Should(Equal(http.StatusCreated))
	})

	It("is deleted and stays until it says that it has been wiped", func(ctx SpecContext) {
		host.change(ctx, asked)
		Expect(host.forget(ctx).status).To(Equal(http.StatusAccepted))
		object := host.object(ctx)
		Expect(object.DeletionTimestamp).NotTo(BeNil())
		Expect(object.Status.Phase).To(Equal(infrav1.HostPhaseResetting))
		By("being asked again")
		Expect(host.forget(ctx).status).To(Equal(http.StatusAccepted))
		By("registering again before it is gone")
		again := host.register(ctx, host.create())
		Expect(again.status).To(Equal(http.StatusConflict))
		Expect(again.message()).To(ContainSubstring("being deleted"))
		By("being wiped, as it says more than once")
		for range 2 {
			Expect(host.wiped(ctx).status).To(Equal(http.StatusNoContent))
			Expect(host.object(ctx).Status.Phase).To(Equal(infrav1.HostPhaseReset))
		}
	})

	It("is deleted when it says that it has been wiped, although nobody heard that it would be", func(ctx SpecContext) {
		host.change(ctx, asked)
		Expect(host.wiped(ctx).status).To(Equal(http.StatusNoContent))
		Expect(host.object(ctx)).To(And(HaveField("DeletionTimestamp", Not(BeNil())), HaveField("Status.Phase", infrav1.HostPhaseReset)))
	})

	It("learns how, whatever has become of the registration's token", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) {
			spec.Config.Elemental.Reset = map[string]runtime.RawExtension{"resetOem": {Raw: []byte("true")}}
		})
		host := registered(ctx, endpoint, "m-1")
		stale, err := token.SignRegistrationToken(endpoint.SigningKey, endpoint.URI, time.Now().Add(-time.Hour), time.Minute)
		Expect(err).NotTo(HaveOccurred())
		Expect(get(ctx, endpoint, "", header{wire.RegistrationHeader, "Bearer " + stale}).status).To(Equal(http.StatusUnauthorized))
		Expect(into[wire.Reset](host.get(ctx, "/reset")).Options).To(MatchJSON(`{"resetOem":true}`))
		Expect(newMachine(endpoint, "m-1").get(ctx, "/reset").status).To(Equal(http.StatusUnauthorized))
	})

	It("is kept when it serves a Machine, even if the cache does not know yet", func(ctx SpecContext) {
		host.change(ctx, taken)
		refused := host.forget(ctx)
		Expect(refused.status).To(Equal(http.StatusConflict))
		Expect(host.wiped(ctx).status).To(Equal(http.StatusConflict))
		Expect(refused.message()).To(ContainSubstring("serves ElementalMachine em-1"))
		Expect(host.object(ctx).DeletionTimestamp).To(BeNil())
	})
})
