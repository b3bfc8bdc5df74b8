// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/redact"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestBundle(t *testing.T) {
	specs.Run(t, "Bundle Suite")
}

var (
	server *apiserver.Server
	live   client.Client
)

var _ = BeforeSuite(func() {
	server = apiserver.StartForSuite()
	live = server.Client
})

var _ = DescribeTable("clean", func(object, expected map[string]any) {
	u := &unstructured.Unstructured{Object: object}
	clean(u)
	Expect(u.Object).To(Equal(expected))
},
	Entry("keeps what has no credential",
		map[string]any{"kind": "Machine", "spec": map[string]any{"version": "v1", "bootstrap": map[string]any{"dataSecretName": "s"}}},
		map[string]any{"kind": "Machine", "spec": map[string]any{"version": "v1", "bootstrap": map[string]any{"dataSecretName": "s"}}}),
	Entry("managed fields, and annotations that are not Cluster API's",
		map[string]any{"metadata": map[string]any{"managedFields": []any{map[string]any{}}, "annotations": map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "note": "hunter2", "x.cluster.x-k8s.io/a": "b", "cluster.x-k8s.io/conversion-data": `{"a":"hunter2"}`,
		}}},
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": redact.Removed, "note": redact.Removed, "x.cluster.x-k8s.io/a": "b", "cluster.x-k8s.io/conversion-data": redact.Removed,
		}}}),
	Entry("annotations of a template",
		map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{"note": "hunter2"}}}}},
		map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{"note": redact.Removed}}}}}),
	Entry("fields that carry credentials",
		map[string]any{"spec": map[string]any{"token": "hunter2", "env": []any{"hunter2"}, "list": []any{map[string]any{"registryPassword": "hunter2", "name": "n"}}}},
		map[string]any{"spec": map[string]any{"token": redact.Removed, "env": redact.Removed, "list": []any{map[string]any{"registryPassword": redact.Removed, "name": "n"}}}}),
	Entry("the configuration of control plane machines",
		map[string]any{"kind": "KubeadmControlPlane", "spec": map[string]any{"version": "v1", "kubeadmConfigSpec": map[string]any{"preKubeadmCommands": "hunter2"}}},
		map[string]any{"kind": "KubeadmControlPlane", "spec": map[string]any{"version": "v1"}}),
)
