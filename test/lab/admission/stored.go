// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
)

const (
	// lookAgain is how often the audit log is polled for a write.
	lookAgain = 5 * time.Millisecond
	// storing is how long an API server may take to store a write after its verdict.
	storing = 10 * time.Second
)

// awaitStored waits until the write appears in the audit log, and reports whether it was carried out.
func (w *Write) awaitStored(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, storing)
	defer cancel()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		if event := w.answered(); event != nil {
			return w.isDone(event)
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// isDone reports whether the response means that the write was carried out. KubeVirt rejects an eviction with 429 when
// it takes it as the request to migrate a virtual machine.
func (w *Write) isDone(event *auditv1.Event) bool {
	refused := event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusTooManyRequests
	return audit.Succeeded(*event) || w.Resource == evictions && refused
}

// answered is the audit event of the write; nil while there is none.
func (w *Write) answered() *auditv1.Event {
	log, err := os.Open(w.log)
	if err != nil {
		return nil
	}
	defer func() { _ = log.Close() }()
	if _, err := log.Seek(w.offset, io.SeekStart); err != nil {
		return nil
	}
	content, err := io.ReadAll(bufio.NewReader(log))
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(content) {
		event := &auditv1.Event{}
		if !bytes.Contains(line, []byte(w.id)) || json.Unmarshal(line, event) != nil {
			continue
		}
		// One request can call the webhook several times: the API server retries an update after a conflict.
		if _, found := event.Annotations[hookName+"/"+w.id]; found {
			return event
		}
	}
	return nil
}
