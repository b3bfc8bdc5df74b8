// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

const (
	// hooksService is the Service of the hooks, and hooksSecret the Secret with its certificate.
	hooksService = "elemental-runtime-extension"
	hooksSecret  = hooksService + "-cert"
)

var (
	certificates = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}
	// injected are the kinds that refer to Services, into which cert-manager injects the CAs of these.
	injected = []schema.GroupVersionKind{
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	}
)

// startCertManager installs cert-manager's CRDs, and runs its controllers.
func (p *plane) startCertManager(ctx context.Context) error {
	if _, err := p.Kubectl(ctx, "apply", "--server-side", "--filename", filepath.Join(root, "bin", "manifests", "cert-manager-crds.yaml")); err != nil {
		return err
	}
	if _, err := p.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all"); err != nil {
		return err
	}
	kubeconfig, err := p.Management.WriteKubeconfig("cert-manager")
	if err != nil {
		return err
	}
	p.certManager, err = process.Start(process.Spec{
		Name: "cert-manager", Path: tool("cert-manager"), Args: []string{"--kubeconfig", kubeconfig}, LogDir: filepath.Dir(kubeconfig),
	})
	if err != nil {
		return err
	}
	DeferCleanup(p.certManager.Stop)
	return nil
}

// awaitCertificates waits until cert-manager has issued all certificates of the providers, and has injected their CAs.
func (p *plane) awaitCertificates(ctx context.Context) error {
	err := scenario.Await(ctx, "cert-manager to issue all certificates", func(ctx context.Context) (string, error) {
		select {
		case <-p.certManager.Exited():
			return "", p.certManager.Failure()
		default:
		}
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(certificates)
		if err := p.Kube.List(ctx, all); err != nil {
			return "", err
		}
		for i := range all.Items {
			ready, err := conditions.UnstructuredGet(&all.Items[i], "Ready")
			if err != nil || ready == nil || ready.Status != metav1.ConditionTrue {
				return fmt.Sprintf("Certificate %s is not ready", client.ObjectKeyFromObject(&all.Items[i])), err
			}
		}
		return p.notInjected(ctx)
	})
	if err != nil {
		return fmt.Errorf("%w; the end of the log:\n%s", err, process.Tail(p.certManager.LogFile()))
	}
	return nil
}

// notInjected names a webhook configuration or a CRD that requests the injection of a CA and does not have it
// everywhere.
func (p *plane) notInjected(ctx context.Context) (string, error) {
	for _, kind := range injected {
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(kind)
		if err := p.Kube.List(ctx, all); err != nil {
			return "", err
		}
		for _, object := range all.Items {
			if _, asks := object.GetAnnotations()[capi.InjectsFrom]; asks && slices.Contains(authorities(object), "") {
				return fmt.Sprintf("%s %s knows no authority", kind.Kind, object.GetName()), nil
			}
		}
	}
	return "", nil
}

// authorities are the base64-encoded CAs of the Services that an object refers to; empty for one without a CA.
func authorities(object unstructured.Unstructured) []string {
	callers, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	if conversion, converts, _ := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook"); converts {
		callers = append(callers, conversion)
	}
	found := make([]string, 0, len(callers))
	for _, caller := range callers {
		if calls, isMap := caller.(map[string]any); isMap {
			authority, _, _ := unstructured.NestedString(calls, "clientConfig", "caBundle")
			found = append(found, authority)
		}
	}
	return found
}

// trusted are the distinct CAs that are configured for the webhooks of this provider, by the names of their
// configurations.
func (p *plane) trusted(ctx context.Context) (map[string][]string, error) {
	found := map[string][]string{}
	for _, kind := range injected {
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(kind)
		if err := p.Kube.List(ctx, all, client.MatchingLabels{clusterv1.ProviderNameLabel: "infrastructure-elemental"}); err != nil {
			return nil, err
		}
		for _, object := range all.Items {
			if bundles := authorities(object); len(bundles) > 0 {
				slices.Sort(bundles)
				found[object.GetName()] = slices.Compact(bundles)
			}
		}
	}
	return found, nil
}

// mountCertificate writes the certificate of the hooks to where a kubelet would mount it in a real cluster.
func (p *plane) mountCertificate(ctx context.Context) error {
	secret, err := p.secret(ctx, hooksSecret)
	if err != nil {
		return err
	}
	return pki.WriteFiles(p.ExtensionCertDir(), secret.Data)
}

func (p *plane) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, p.Kube.Get(ctx, client.ObjectKey{Namespace: lab.ManagerNamespace, Name: name}, secret)
}

func (p *plane) secretExists(name string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		_, err := p.secret(ctx, name)
		return err == nil, client.IgnoreNotFound(err)
	}
}
