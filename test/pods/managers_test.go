// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"crypto/tls"
	"net/http"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

const (
	deployment = "elemental-controller-manager"
	// account is our manager's user in the audit log.
	account = "system:serviceaccount:" + lab.ManagerNamespace + ":elemental-manager"
	// ours selects the Pods of our manager.
	ours = "control-plane=controller-manager"
)

var _ = Describe("The managers as Pods", Ordered, func() {
	var cluster *scenario.Cluster

	BeforeAll(func(ctx SpecContext) {
		first.await(ctx)
		first.install(ctx)
	})

	AfterAll(func() {
		for _, cluster := range []*kube.Cluster{theLab.Management, theLab.Workload} {
			Expect(audit.Forbidden(suite.Audit(cluster), account)).To(BeEmpty(), "the manager has all the rights it uses")
		}
	})

	DescribeTable("become Available, with the images, probes and security contexts of the release:", awaitDeploymentSpec,
		Entry(nil, "capi-system", "capi-controller-manager"),
		Entry(nil, "capi-kubeadm-bootstrap-system", "capi-kubeadm-bootstrap-controller-manager"),
		Entry(nil, "capi-kubeadm-control-plane-system", "capi-kubeadm-control-plane-controller-manager"),
		Entry(nil, lab.ManagerNamespace, deployment),
	)

	It("answer webhooks at the addresses of their Services", func(ctx SpecContext) {
		_, err := theLab.Kubectl(ctx, "create", "--dry-run=server", "--filename", "testdata/invalid-registration.yaml")
		Expect(err).To(MatchError(ContainSubstring("use <registry> or <registry>/")))
	})

	It("find our hooks by the name of their Service", func(ctx SpecContext) {
		Eventually(kubectl).WithContext(ctx).WithArguments("get", "extensionconfig", "elemental", "--output",
			`jsonpath={.status.conditions[?(@.type=="Discovered")].status}`).Should(Equal("True"))
	})

	It("serve metrics to who may read them, and to nobody else", func(ctx SpecContext) {
		kubectl(ctx, "create", "clusterrole", "metrics-reader", "--verb=get", "--non-resource-url=/metrics")
		kubectl(ctx, "create", "clusterrolebinding", "metrics-reader", "--clusterrole=metrics-reader", "--serviceaccount=default:default")
		token := strings.TrimSpace(kubectl(ctx, "create", "token", "default"))
		for _, address := range strings.Fields(pods(ctx, "{.status.podIP}")) {
			Eventually(metrics).WithContext(ctx).WithArguments(address, token).Should(Equal(http.StatusOK))
			Expect(metrics(ctx, address, "")).To(Equal(http.StatusUnauthorized))
		}
	})

	It("let the other replica of ours lead when the leader's Pod is deleted", func(ctx SpecContext) {
		var former string
		Eventually(func() string { former = leader(ctx); return former }).Should(Not(BeEmpty()))
		kubectl(ctx, "delete", "pod", former, "--namespace", lab.ManagerNamespace)
		Eventually(leader).WithContext(ctx).Should(And(Not(BeEmpty()), Not(Equal(former))))
		first.awaitDeployment(ctx, lab.ManagerNamespace, deployment)
	})

	It("upgrade a host in place, which reaches the Elemental API at a port of the Node", func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, theLab, scenario.Options{Name: "pods", Workers: 1})
		upgrade(ctx, cluster)
	})

	It("are in a bundle with their logs", func(ctx SpecContext) {
		bundle := filepath.Join(GinkgoT().TempDir(), "bundle.tar.gz")
		osimage.Run(setup.Built("elemental-bundle"), "--kubeconfig", lab.AdminKubeconfig(theLab.Management), "--namespace", cluster.Namespace(),
			"--cluster", cluster.Options.Name, "--output", bundle)
		attempts, err := cluster.Attempts(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(attempts).To(HaveLen(1))
		Expect(osimage.Run("tar", "-xzOf", bundle, "--wildcards", "*/manager.log")).To(ContainSubstring(attempts[0].Name))
	})

	It("are moved into the cluster that they manage, upgrade its host from there, and are moved back", func(ctx SpecContext) {
		prepareInside(ctx, cluster)
		within, err := theLab.InWorkload(ctx)
		Expect(err).NotTo(HaveOccurred())
		moved := *cluster
		moved.Lab = within

		first.moveTo(ctx, inside, &moved)
		Expect(moved.AwaitWorkers(ctx)).To(Succeed())
		upgrade(ctx, &moved)

		inside.moveTo(ctx, first, cluster)
		Expect(cluster.AwaitWorkers(ctx)).To(Succeed())
		upgrade(ctx, cluster)
	})
})

func awaitDeploymentSpec(ctx SpecContext, namespace, name string) {
	first.awaitDeployment(ctx, namespace, name)
	Expect(kubectl(ctx, "get", "deployment", name, "--namespace", namespace, "--output",
		`jsonpath={.status.conditions[?(@.type=="Available")].status}`)).To(Equal("True"))
}

// pods has a field of each Pod of our manager.
func pods(ctx context.Context, field string) string {
	GinkgoHelper()
	return kubectl(ctx, "get", "pods", "--namespace", lab.ManagerNamespace, "--selector", ours, "--output", "jsonpath={range .items[*]}"+field+" {end}")
}

// leader is the Pod of our manager that holds the Lease.
func leader(ctx context.Context) string {
	GinkgoHelper()
	holder := kubectl(ctx, "get", "leases", "--namespace", lab.ManagerNamespace, "--output", "jsonpath={.items[*].spec.holderIdentity}")
	pod, _, _ := strings.Cut(holder, "_")
	return pod
}

// metrics is the status by which a Pod of our manager answers a request for its metrics.
func metrics(ctx context.Context, address, token string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+":8443/metrics", nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// Its certificate is its own.
	answer, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
