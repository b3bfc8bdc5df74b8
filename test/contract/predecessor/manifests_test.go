// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package predecessor_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

// Fields of version 0.7, by kind.
const manifests = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: ElementalRegistration
metadata: {name: my-registration, namespace: default}
spec:
  hostLabels: {my-label: "true"}
  hostAnnotations: {my-annotation: "a"}
  privateKeyRef: {name: my-registration, namespace: default}
  config:
    cloudConfig:
      users: [{name: root, passwd: "$6$x"}]
      write_files: [{path: /etc/x, content: y}]
      runcmd: [echo]
    elemental:
      registration: {uri: "https://x", caCert: "", tokenDuration: 24h, token: ""}
      agent:
        workDir: /var/lib/elemental/agent
        hostname: {useExisting: false, prefix: m-}
        noSmbios: false
        debug: false
        osPlugin: elemental
        reconciliation: 10s
        insecureAllowHttp: false
        insecureSkipTlsVerify: false
        useSystemCertPool: false
        postInstall: {powerOff: false, reboot: true}
        postReset: {powerOff: false, reboot: true}
      install: {device: /dev/vda, ejectCd: true, debug: true}
      reset: {resetPersistent: true, resetOem: true, configUrls: [], systemUri: "", debug: true}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: ElementalCluster
metadata: {name: my-cluster, namespace: default}
spec:
  controlPlaneEndpoint: {host: 192.168.122.50, port: 6443}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: ElementalClusterTemplate
metadata: {name: my-cluster, namespace: default}
spec:
  template:
    metadata: {labels: {a: b}}
    spec:
      controlPlaneEndpoint: {host: 192.168.122.50, port: 6443}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: ElementalMachineTemplate
metadata: {name: my-machines, namespace: default}
spec:
  template:
    metadata: {labels: {a: b}}
    spec:
      selector: {matchLabels: {my-label: "true"}, matchExpressions: [{key: x, operator: Exists}]}
      osVersionManagement:
        osVersion: {imageUri: "oci://192.168.122.10:30000/elemental-os:dev-next", upgradeRecovery: true, debug: true}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: ElementalMachine
metadata: {name: my-machine, namespace: default}
spec:
  providerID: elemental://default/m-1
  selector: {matchLabels: {my-label: "true"}}
  hostRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: ElementalHost, name: m-1, namespace: default}
  osVersionManagement:
    osVersion: {imageUri: "oci://192.168.122.10:30000/elemental-os:dev-next"}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: ElementalHost
metadata:
  name: m-1
  namespace: default
  labels: {elementalhost.infrastructure.cluster.x-k8s.io/in-place-update: pending}
  finalizers: [elementalmachine.infrastructure.cluster.x-k8s.io]
spec:
  pubKey: key
  bootstrapSecret: {apiVersion: v1, kind: Secret, name: x, namespace: default}
  machineRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: ElementalMachine, name: my-machine, namespace: default}
  osVersionManagement:
    osVersion: {imageUri: "oci://192.168.122.10:30000/elemental-os:dev-next"}
`

var _ = It("Manifests of version 0.7 apply, with every field", func(ctx SpecContext) {
	objects, err := capi.Parse([]byte(manifests))
	Expect(err).NotTo(HaveOccurred())
	Expect(objects).To(HaveLen(6))
	strict := client.WithFieldValidation(server.Client, metav1.FieldValidationStrict)
	for _, object := range objects {
		Expect(strict.Create(ctx, object.DeepCopy())).To(Succeed(), object.GetKind())
		stored := object.DeepCopy()
		Expect(server.Client.Get(ctx, client.ObjectKeyFromObject(object), stored)).To(Succeed())
		unstructured.RemoveNestedField(stored.Object, "spec", "approval") // a default that is new
		Expect(json.Marshal(stored.Object["spec"])).To(MatchJSON(asJSON(object.Object["spec"])), "nothing of %s is dropped", object.GetKind())
	}
})

func asJSON(value any) []byte {
	GinkgoHelper()
	encoded, err := json.Marshal(value)
	Expect(err).NotTo(HaveOccurred())
	return encoded
}
