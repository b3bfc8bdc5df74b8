// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// ask sends a request and returns the status code and the body.
func ask(ctx context.Context, method, url, token, body string) (int, string) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := caller.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(said)
}

// sum of the samples of the metric whose labels contain a text.
func sum(metrics, name, containing string) float64 {
	GinkgoHelper()
	total := 0.0
	for lines := bufio.NewScanner(strings.NewReader(metrics)); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), "} ")
		if strings.HasPrefix(series, name+"{") && strings.Contains(series, containing) {
			count, err := strconv.ParseFloat(value, 64)
			Expect(err).NotTo(HaveOccurred())
			total += count
		}
	}
	return total
}

var _ = Describe("Several replicas", Ordered, func() {
	var token string

	BeforeAll(func(ctx SpecContext) {
		reader := newAccount(ctx, "prometheus")
		meta := metav1.ObjectMeta{Name: "metrics-reader"}
		Expect(server.Client.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
		}})).To(Succeed())
		Expect(server.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}, Subjects: subjects(reader.Name),
		})).To(Succeed())
		token = tokenOf(ctx, reader)
		for _, r := range replicas {
			Eventually(func() int {
				code, _ := ask(ctx, http.MethodGet, r.metricsURL(), token, "")
				return code
			}, patience).Should(Equal(http.StatusOK), "once the API server has seen the role")
		}
	})

	// metricsOf returns the metrics of a replica, read with an authorized token.
	metricsOf := func(ctx context.Context, r *replica) string {
		GinkgoHelper()
		code, said := ask(ctx, http.MethodGet, r.metricsURL(), token, "")
		Expect(code).To(Equal(http.StatusOK), said)
		return said
	}

	It("serve metrics to authorized clients only", func(ctx SpecContext) {
		stranger := tokenOf(ctx, newAccount(ctx, "stranger"))
		for _, r := range replicas {
			code, _ := ask(ctx, http.MethodGet, r.metricsURL(), "", "")
			Expect(code).To(Equal(http.StatusUnauthorized), "without a token")
			code, said := ask(ctx, http.MethodGet, r.metricsURL(), "made-up", "")
			Expect(code).To(BeNumerically(">=", 400), "with a token that the API server does not know")
			Expect(said).NotTo(ContainSubstring("elemental_"))
			code, said = ask(ctx, http.MethodGet, r.metricsURL(), stranger, "")
			Expect(code).To(Equal(http.StatusForbidden), "with a token of somebody who may not read them")
			Expect(said).NotTo(ContainSubstring("elemental_"))
			Eventually(metricsOf, patience).WithContext(ctx).WithArguments(r).Should(ContainSubstring("elemental_hostapi_held_polls 0"))
		}
	})

	It("accept no older TLS version than configured, on all ports", func(ctx SpecContext) {
		for name, port := range map[string]int{
			"webhooks": replicas[0].webhooks, "hooks": replicas[0].hooks, "hosts": replicas[0].api, "diagnostics": replicas[0].diagnostics,
		} {
			dial := func(newest uint16) error {
				dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MaxVersion: newest}}
				connection, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
				if err != nil {
					return err
				}
				return connection.Close()
			}
			Expect(dial(tls.VersionTLS13)).To(Succeed(), name)
			Expect(dial(tls.VersionTLS12)).To(MatchError(ContainSubstring("protocol version")), name)
		}
	})

	It("all serve hooks and hosts", func(ctx SpecContext) {
		const question = `{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"DiscoveryRequest"}`
		for _, r := range replicas {
			_, ready := ask(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz?verbose", r.health), "", "")
			Expect(ready).To(ContainSubstring("[+]elemental-api ok"))
			code, said := ask(ctx, http.MethodPost, fmt.Sprintf("https://127.0.0.1:%d/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery", r.hooks), "", question)
			Expect(code).To(Equal(http.StatusOK), said)
			Expect(said).To(ContainSubstring("elemental-update-machine"))
			code, said = ask(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/elemental/v1/namespaces/default/registrations/none", r.api), "", "")
			Expect(code).To(Equal(http.StatusUnauthorized), said)
		}
	})

	It("reconcile on the leader only, with the permissions of the manager", func(ctx SpecContext) {
		registration := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rack"}}
		Expect(server.Client.Create(ctx, registration)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(server.Client.Get(ctx, client.ObjectKeyFromObject(registration), registration)).To(Succeed())
			g.Expect(registration.Status.URI).To(HavePrefix("https://elemental.example.com:9090/"))
		}, patience).WithContext(ctx).Should(Succeed(), process.Tail(replicas[0].LogFile()))
		held := &corev1.Secret{}
		Expect(server.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: registration.Status.TokenSecretName}, held)).To(Succeed())
		held.Data = map[string][]byte{infrav1.RegistrationTokenSecretKey: []byte("spoiled")}
		Expect(server.Client.Update(ctx, held)).To(Succeed())
		touched := registration.DeepCopy()
		touched.Annotations = map[string]string{"touched": "true"} // or it takes a minute
		Expect(server.Client.Patch(ctx, touched, client.MergeFrom(registration))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(server.Client.Get(ctx, client.ObjectKeyFromObject(held), held)).To(Succeed())
			g.Expect(held.Data).To(HaveKeyWithValue(infrav1.RegistrationTokenSecretKey, Not(BeEquivalentTo("spoiled"))))
		}, patience).WithContext(ctx).Should(Succeed())
		leading, reconciled := []float64{}, []float64{}
		for _, r := range replicas {
			metrics := metricsOf(ctx, r)
			leading = append(leading, sum(metrics, "leader_election_master_status", ""))
			reconciled = append(reconciled, sum(metrics, "controller_runtime_reconcile_total", `controller="elementalregistration"`))
		}
		Expect(leading).To(ConsistOf(1.0, 0.0))
		for i := range replicas {
			Expect(reconciled[i] > 0).To(Equal(leading[i] == 1), "replica %d", i)
		}
	})

	It("send nothing of their own to the server that a kubeconfig names", sendNothing)

	It("take over from a leader that stops", func(ctx SpecContext) {
		leads := func(r *replica) bool { return sum(metricsOf(ctx, r), "leader_election_master_status", "") == 1 }
		leader, other := replicas[0], replicas[1]
		if leads(other) {
			leader, other = other, leader
		}
		leader.Stop()
		Expect(leader.Result()).NotTo(HaveOccurred(), "it ends in time and without complaint")
		Eventually(leads, patience).WithArguments(other).Should(BeTrue())
	})

	It("ignore objects in another namespace, or without the watch label, when configured to", func(ctx SpecContext) {
		for _, r := range replicas {
			r.Stop()
		}
		Expect(server.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}})).To(Succeed())
		register := func(namespace, name, filter string) *infrav1.ElementalRegistration {
			GinkgoHelper()
			registration := &infrav1.ElementalRegistration{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.WatchLabel: filter},
			}}
			Expect(server.Client.Create(ctx, registration)).To(Succeed())
			return registration
		}
		others := []*infrav1.ElementalRegistration{register("default", "elsewhere", "tenant"), register("tenant", "unlabelled", "somebody")}
		own := register("tenant", "own", "tenant")
		startTenant(ctx, "--namespace=tenant", "--watch-filter=tenant")
		uri := func(ctx context.Context, registration *infrav1.ElementalRegistration) (string, error) {
			err := server.Client.Get(ctx, client.ObjectKeyFromObject(registration), registration)
			return registration.Status.URI, err
		}
		Eventually(uri, patience).WithContext(ctx).WithArguments(own).ShouldNot(BeEmpty())
		for _, other := range others {
			Consistently(uri, calm).WithContext(ctx).WithArguments(other).Should(BeEmpty())
		}
	})
})
