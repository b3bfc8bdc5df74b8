// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
)

func request(user, verb, group, resource, subresource, name string, code int32) auditv1.Event {
	event := auditv1.Event{Verb: verb, ResponseStatus: &metav1.Status{Code: code}, ObjectRef: &auditv1.ObjectReference{
		APIGroup: group, Resource: resource, Subresource: subresource, Namespace: "vms", Name: name,
	}}
	event.User.Username = user
	return event
}

var _ = Describe("Requests for virtual machines", func() {
	events := []auditv1.Event{
		request("us", "list", "kubevirt.io", "virtualmachineinstances", "", "", 200),
		request("us", "get", "kubevirt.io", "virtualmachines", "", "db", 200),
		request("us", "create", "", "pods", "eviction", "virt-launcher-db-x7k2p", 429),
		request("us", "create", "", "pods", "eviction", "virt-launcher-my-db-x7k2p", 201),
		request("us", "update", "subresources.kubevirt.io", "virtualmachines", "stop", "db", 202),
		request("us", "create", "kubevirt.io", "virtualmachineinstancemigrations", "", "", 201),
		request("us", "create", "", "pods", "eviction", "web-1", 201),
		request("others", "get", "kubevirt.io", "virtualmachines", "", "db", 200),
		request("others", "create", "kubevirt.io", "virtualmachineinstances", "", "db", 201),
		request("others", "create", "kubevirt.io", "virtualmachineinstances", "", "db", 409),
	}

	It("are counted by machine, refused ones included", func() {
		ours := audit.ForVMs(audit.ByUser(events, "us"))
		Expect(ours.Of).To(Equal(map[string]int{"vms/db": 3, "vms/my-db": 1}))
		Expect(ours.Common).To(Equal(2))
		Expect(ours.Total()).To(Equal(6))
		Expect(ours.Kinds).To(HaveKeyWithValue("create pods/eviction", 2))
	})

	It("show how often each was started", func() {
		Expect(audit.Starts(events)).To(Equal(map[string]int{"vms/db": 1}))
	})
})
