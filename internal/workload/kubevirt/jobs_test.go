// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

var _ = DescribeTable("a virtual machine is backed up", func(expected bool, kind, status string) {
	conditions := []any{map[string]any{"type": kind, "status": status}}
	Expect(isBackedUp(map[string]any{"status": map[string]any{"conditions": conditions}})).To(Equal(expected))
},
	Entry("in progress", false, "Progressing", "True"),
	Entry("not done", false, "Done", "False"),
	Entry("done", true, "Done", "True"),
)

var _ = DescribeTable("the Node of a job", func(expected []string, kind, name string) {
	k := &Installation{Places: map[types.NamespacedName]string{{Namespace: "default", Name: "vm"}: "n", {Namespace: "default", Name: "pending"}: ""}}
	job := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"source": map[string]any{"kind": kind, "name": name}}}}
	job.SetNamespace("default")
	Expect(k.placeOf("source")(job)).To(Equal(expected))
},
	Entry("that of its virtual machine", []string{"n"}, "VirtualMachine", "vm"),
	Entry("not known of a virtual machine that does not run", nil, "VirtualMachine", "stopped"),
	Entry("not known of one that waits for a node", nil, "VirtualMachine", "pending"),
	Entry("not known of a tracker", nil, "VirtualMachineBackupTracker", "vm"),
)
