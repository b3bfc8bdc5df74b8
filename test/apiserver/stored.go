// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// putBytes is etcd's count of the bytes that were stored since it started, including keys, whether or not they still
// exist.
const putBytes = "etcd_debugging_mvcc_total_put_size_in_bytes"

// StoredBytes is the number of bytes that were put into etcd since it started.
func (s *Server) StoredBytes(ctx context.Context) (int, error) {
	url := s.environment.ControlPlane.Etcd.URL.JoinPath("metrics").String()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, fmt.Errorf("asking etcd what it has stored: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("asking etcd what it has stored: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("reading the metrics of etcd: %w", err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if value, found := strings.CutPrefix(line, putBytes+" "); found {
			bytes, err := strconv.ParseFloat(value, 64)
			return int(bytes), err
		}
	}
	return 0, fmt.Errorf("no %s among the metrics of etcd at %s", putBytes, url)
}
