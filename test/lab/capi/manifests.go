// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Kinds that the lab uses from manifests written for a real cluster.
const (
	kindCRD        = "CustomResourceDefinition"
	kindValidating = "ValidatingWebhookConfiguration"
	kindMutating   = "MutatingWebhookConfiguration"
	kindDeployment = "Deployment"
	kindNamespace  = "Namespace"
	kindPolicy     = "ValidatingAdmissionPolicy"
	kindBinding    = "ValidatingAdmissionPolicyBinding"
)

// Manifests are objects of a provider.
type Manifests []*unstructured.Unstructured

// Load reads YAML documents from files.
func Load(files ...string) (Manifests, error) {
	all := Manifests{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading manifests; run 'make tools manifests': %w", err)
		}
		objects, err := Parse(content)
		if err != nil {
			return nil, fmt.Errorf("reading manifests in %s: %w", file, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// Parse reads YAML documents.
func Parse(content []byte) (Manifests, error) {
	objects := Manifests{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, err
		}
		if object.GetKind() != "" {
			objects = append(objects, object)
		}
	}
}

// OfKind returns the objects of the given kinds.
func (m Manifests) OfKind(kinds ...string) Manifests {
	return slices.DeleteFunc(slices.Clone(m), func(object *unstructured.Unstructured) bool {
		return !slices.Contains(kinds, object.GetKind())
	})
}

// CRDs and Webhooks are separate because they are created at different times: a webhook must not be called before its
// server runs.
func (m Manifests) CRDs() Manifests { return m.OfKind(kindCRD) }

// Webhooks returns the webhook configurations.
func (m Manifests) Webhooks() Manifests { return m.OfKind(kindValidating, kindMutating) }

// Policies returns the ValidatingAdmissionPolicies and their bindings.
func (m Manifests) Policies() Manifests { return m.OfKind(kindPolicy, kindBinding) }

// InjectsFrom is the annotation that makes cert-manager inject the CA of a Service's certificate.
const InjectsFrom = "cert-manager.io/inject-ca-from"

// OnLoopback replaces every reference to a Service by a loopback URL, with a CA that cert-manager does not overwrite.
func (m Manifests) OnLoopback(port int, ca []byte) error {
	for _, object := range m {
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", InjectsFrom)
		switch object.GetKind() {
		case kindCRD:
			if err := conversionOnLoopback(object, port, ca); err != nil {
				return err
			}
		case kindValidating, kindMutating:
			if err := webhooksOnLoopback(object, port, ca); err != nil {
				return err
			}
		}
	}
	return nil
}

func conversionOnLoopback(crd *unstructured.Unstructured, port int, ca []byte) error {
	path := []string{"spec", "conversion", "webhook", "clientConfig"}
	config, found, err := unstructured.NestedMap(crd.Object, path...)
	if err != nil || !found {
		return err
	}
	return unstructured.SetNestedMap(crd.Object, clientConfig(config, port, ca), path...)
}

func webhooksOnLoopback(object *unstructured.Unstructured, port int, ca []byte) error {
	hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("reading the webhooks of %s: %w", object.GetName(), err)
	}
	for i := range hooks {
		hook, isMap := hooks[i].(map[string]any)
		if !isMap {
			continue
		}
		config, _, err := unstructured.NestedMap(hook, "clientConfig")
		if err != nil {
			return fmt.Errorf("reading a webhook of %s: %w", object.GetName(), err)
		}
		hook["clientConfig"] = clientConfig(config, port, ca)
	}
	return unstructured.SetNestedSlice(object.Object, hooks, "webhooks")
}

func clientConfig(config map[string]any, port int, ca []byte) map[string]any {
	path, _, _ := unstructured.NestedString(config, "service", "path")
	return map[string]any{
		"url":      fmt.Sprintf("https://127.0.0.1:%d%s", port, path),
		"caBundle": base64.StdEncoding.EncodeToString(ca),
	}
}

// Create creates the objects; existing ones are not an error. Existing CRDs and webhook configurations are changed to
// call the URLs of these objects, because what installed them may refer to a Service.
func (m Manifests) Create(ctx context.Context, kube client.Client) error {
	for _, object := range m {
		err := kube.Create(ctx, object.DeepCopy())
		if apierrors.IsAlreadyExists(err) {
			err = callAs(ctx, kube, object)
		}
		if err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}
