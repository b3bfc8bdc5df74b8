// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/admission"
)

var _ = DescribeTable("The effects of an update", func(was, is string, expected ...string) {
	write := &admission.Write{Verb: "update"}
	Expect(yaml.Unmarshal([]byte(was), &write.Old)).To(Succeed())
	Expect(yaml.Unmarshal([]byte(is), &write.New)).To(Succeed())
	Expect(write.Effects()).To(HaveExactElements(expected))
},
	Entry("are empty without a change", "spec: {a: 1}", "spec: {a: 1}"),
	Entry("exclude bookkeeping",
		"metadata: {resourceVersion: '1', generation: 1}\nstatus: {agent: {lastSeen: then}}",
		"metadata: {resourceVersion: '2', generation: 2}\nstatus: {agent: {lastSeen: now}}"),
	Entry("are only text", "status: {message: waits}", "status: {message: goes}", admission.OnlyText),
	Entry("name a label with its value, and an annotation without",
		"metadata: {labels: {x/a: old, x/b: old}, annotations: {x/c: old}}",
		"metadata: {labels: {x/a: new}, annotations: {x/c: new, x/d: new}}",
		"annotation c changed", "annotation d set", "label a=new", "label b=nothing"),
	Entry("name a finalizer", "metadata: {finalizers: [a]}", "metadata: {}", "finalizers removed"),
	Entry("name a field of the spec, but not its value",
		"spec: {upgrade: {attempt: a, digest: d}, kept: 1}", "spec: {kept: 1}", "spec.upgrade removed"),
	Entry("name a phase and a step with their values",
		"status: {phase: Pending, step: Drain, stepIndex: 7, upgrade: {phase: Fetched}}",
		"status: {phase: Progressing, step: Reboot, stepIndex: 10, upgrade: {phase: Applying}}",
		"status.phase=Progressing", "status.step=Reboot", "status.upgrade.phase=Applying"),
	Entry("distinguish a slot that is taken from one that is freed", "status: {upgradeSlots: [{attempt: a}]}", "status: {}", "status.upgradeSlots removed"),
	Entry("name the conditions whose status or reason changed",
		"status: {conditions: [{type: A, status: 'True', reason: R, message: m}, {type: B, status: 'True', reason: R}]}",
		"status: {conditions: [{type: A, status: 'True', reason: R, message: n}, {type: B, status: 'False', reason: S}]}",
		"condition B=False/S"),
	Entry("are only text when only the messages of conditions change",
		"status: {conditions: [{type: A, status: 'True', reason: R, message: m}]}",
		"status: {conditions: [{type: A, status: 'True', reason: R, message: n}]}", admission.OnlyText),
	Entry("are only text when the results of a host's checks change", "status: {phase: Progressing}",
		"status: {phase: Progressing, checks: [{name: kubelet, verdict: Passed}]}", admission.OnlyText),
)
