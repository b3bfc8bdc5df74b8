// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// plane is a management cluster that clusterctl has installed.
type plane struct {
	*lab.Lab
	// certManager is the process of cert-manager's controllers.
	certManager *process.Process
	// trusting are the CAs that were injected for webhooks, before the lab replaced those.
	trusting map[string][]string
	// directory of clusterctl's configuration. Default: that of the suite.
	directory string
	// image of the OS that clusters are generated with. Default: one that does not exist.
	image string
	// told is what clusterctl last wrote to its standard error.
	told string
	// initialising is what clusterctl wrote to its standard error during init.
	initialising string
}

// startPlane starts a lab in which clusterctl installs all providers with the one command of docs/install.md. The
// managers start while the command runs, as Pods do. before are steps to run before it.
func startPlane(ctx context.Context, options lab.Options, before ...func(context.Context, *plane)) *plane {
	GinkgoHelper()
	p, initialised := &plane{}, make(chan error, 1)
	options.WithoutExtension = true
	options.Install = func(installing context.Context, l *lab.Lab) error {
		p.Lab = l
		if err := p.startCertManager(installing); err != nil {
			return err
		}
		for _, step := range before {
			step(installing, p)
		}
		go func() { // it continues after the installation
			_, err := p.run(ctx, "init", "--infrastructure", "elemental", "--runtime-extension", "elemental")
			initialised <- err
		}()
		if err := p.awaitRefusal(installing, initialised); err != nil {
			return err
		}
		if err := p.awaitCertificates(installing); err != nil {
			return err
		}
		var err error
		if p.trusting, err = p.trusted(installing); err != nil {
			return err
		}
		if err := p.forgetWebhooks(installing); err != nil {
			return err
		}
		return p.mountCertificate(installing)
	}
	suite.StartLab(ctx, options)
	Eventually(initialised).WithContext(ctx).Should(Receive(BeNil()))
	p.initialising = p.told
	p.awaitDiscovered(ctx)
	return p
}

// awaitRefusal waits until everything is installed except the ExtensionConfig, which needs a webhook of Cluster API,
// whose manager does not run yet.
func (p *plane) awaitRefusal(ctx context.Context, ended <-chan error) error {
	return scenario.Await(ctx, "the ExtensionConfig to be refused", func(ctx context.Context) (string, error) {
		select {
		case err := <-ended:
			return "", fmt.Errorf("clusterctl ended before a manager ran: %w", err)
		default:
		}
		// Without endpoints a Service refuses connections. In the lab nothing would refuse them at its address.
		if _, err := p.Kubectl(ctx, "delete", "service", "capi-webhook-service", "--namespace", "capi-system", "--ignore-not-found"); err != nil {
			return "", err
		}
		events, err := audit.Read(p.Management.AuditLog())
		if err != nil {
			return "", err
		}
		if !slices.ContainsFunc(events, refusesExtension) {
			return "it has not been written", nil
		}
		return "", nil
	})
}

func writesExtension(event auditv1.Event) bool {
	return event.ObjectRef != nil && event.ObjectRef.Resource == "extensionconfigs" && event.Verb == "create"
}

func refusesExtension(event auditv1.Event) bool {
	return writesExtension(event) && !audit.Succeeded(event)
}

// forgetWebhooks deletes the webhook configurations that refer to Services, which do not resolve here. The lab creates
// others once their servers run. Cluster API's own are kept: the lab changes their addresses.
func (p *plane) forgetWebhooks(ctx context.Context) error {
	_, err := p.Kubectl(ctx, "delete", "validatingwebhookconfigurations,mutatingwebhookconfigurations",
		"--selector", clusterv1.ProviderNameLabel+"=infrastructure-elemental")
	return err
}

// discovered is the condition by which Cluster API reports whether it has discovered the hooks; nil before its first
// attempt.
func (p *plane) discovered(ctx context.Context) (*metav1.Condition, error) {
	config := &runtimev1.ExtensionConfig{}
	if err := p.Kube.Get(ctx, client.ObjectKey{Name: capi.ExtensionName}, config); err != nil {
		return nil, err
	}
	return meta.FindStatusCondition(config.Status.Conditions, runtimev1.ExtensionConfigDiscoveredCondition), nil
}

// awaitDiscovered waits until our manager answers and Cluster API has retried the discovery, which nothing triggers:
// its backoff is as long as the time for which it has failed before.
func (p *plane) awaitDiscovered(ctx context.Context) {
	GinkgoHelper()
	Expect(p.Provider.AwaitReady(ctx)).To(Succeed())
	Eventually(p.discovered, 2*specs.Patience).WithContext(ctx).Should(HaveField("Status", metav1.ConditionTrue))
}

// kubectl runs kubectl as a person would, and logs the command.
func (p *plane) kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	tell("kubectl", args)
	said, err := p.Kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	GinkgoWriter.Print(said)
	return said
}
