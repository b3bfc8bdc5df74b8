// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"encoding/json"
	"net/http"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

func (a *API) resetOptions(w http.ResponseWriter, _ *http.Request, _ string) {
	a.lock.Lock()
	defer a.lock.Unlock()
	given := struct {
		Elemental struct {
			Reset json.RawMessage `json:"reset"`
		} `json:"elemental"`
	}{}
	if len(a.config) > 0 {
		_ = json.Unmarshal(a.config, &given)
	}
	answer(w, wire.Reset{Options: given.Elemental.Reset, ImageVerification: a.verification})
}

func (a *API) delete(w http.ResponseWriter, _ *http.Request, name string) {
	a.update(func() {
		if host := a.hosts[name]; host != nil {
			host.Leaving = true
		}
	})
	w.WriteHeader(http.StatusAccepted)
}

func (a *API) wiped(w http.ResponseWriter, _ *http.Request, name string) {
	a.update(func() { delete(a.hosts, name) })
	w.WriteHeader(http.StatusNoContent)
}
