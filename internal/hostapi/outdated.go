// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"net/http"
	"strings"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	// issuerPrefix precedes the version of an agent of the predecessor in the issuer of its tokens.
	issuerPrefix = "elemental-agent/"
	// unknownVersion of an outdated agent whose token does not name it.
	unknownVersion = "0.7 or older"
)

// recordOutdated stores that the host's agent is of the predecessor if the request is signed with the host's key: anyone who reaches the
// port could send it otherwise. The body is not read. A record that is refused for now is made by the next request, ten seconds later.
func (s *Server) recordOutdated(r *http.Request) {
	caller, err := s.authenticate(r)
	if err != nil || caller.host == nil {
		return
	}
	status := infrav1.ElementalHostStatus{Agent: infrav1.HostAgent{Version: predecessorsVersion(r), Outdated: true}}
	err = s.reports.submit(r.Context(), caller.host, status)
	if err != nil && asFailure(err).answer.Code >= http.StatusInternalServerError && r.Context().Err() == nil {
		ctrl.LoggerFrom(r.Context()).Error(err, "Failed to record an outdated agent", "ElementalHost", klog.KObj(caller.host))
	}
}

// predecessorsVersion returns the version in the token of an authenticated request.
func predecessorsVersion(r *http.Request) string {
	raw, err := bearer(r, wire.HostHeader, hostToken)
	if err != nil {
		return unknownVersion
	}
	version, found := strings.CutPrefix(token.Issuer(raw), issuerPrefix)
	if !found || version == "" || len(version) > maxShort || strings.ContainsFunc(version, misleading) {
		return unknownVersion
	}
	return version
}
