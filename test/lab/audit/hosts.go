// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"slices"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// Offered lists the ElementalHosts that were ever asked to take part in an attempt with the image, sorted.
func Offered(events []auditv1.Event, imageURI string) []string {
	hosts := []string{}
	for i := range events {
		ref := events[i].ObjectRef
		if ref == nil || ref.Resource != "elementalhosts" || !IsWrite(events[i]) || !Succeeded(events[i]) || events[i].ResponseObject == nil {
			continue
		}
		host := &infrav1.ElementalHost{}
		if err := json.Unmarshal(events[i].ResponseObject.Raw, host); err != nil || host.Spec.Upgrade == nil {
			continue
		}
		version, err := osversion.Decode(host.Spec.Upgrade.OSVersionManagement)
		if err == nil && version.ImageURI == imageURI {
			hosts = append(hosts, host.Name)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
