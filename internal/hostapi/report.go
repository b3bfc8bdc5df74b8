// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"net/http"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// reportHost handles a host's report. It answers when the report is stored, or equals what is stored.
func (s *Server) reportHost(r *http.Request) (reply, error) {
	caller, err := s.authenticate(r)
	if err != nil {
		return reply{}, err
	}
	report := wire.Report{}
	if err := decodeBody(r, &report, decodeKnown); err != nil {
		return reply{}, err
	}
	status, err := statusOf(report)
	if err != nil {
		return reply{}, err
	}
	if caller.denied != nil {
		return reportOfDenied(r, caller.denied, status)
	}
	if err := s.reports.submit(r.Context(), caller.host, status); err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusNoContent}, nil
}
