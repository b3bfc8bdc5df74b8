// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// FuzzReport tries to find a body that is neither refused as the host's fault nor a status that can be
// stored: within its bounds, and the same once it has been through JSON.
func FuzzReport(f *testing.F) {
	whole, err := json.Marshal(everything())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"os":{"snapshot":-1}}`))
	f.Add([]byte(`{"os":{},"message":"\u001b[2J\ud800"}`))
	f.Add([]byte(`{"os":{},"upgrade":{"attempt":"a","phase":"Applying","message":"é"}}`))
	f.Add([]byte(`{"os":{},"upgrade":{"attempt":"a","phase":"Failed","checks":[{"name":"a","verdict":"New","since":"2026-01-02T03:04:05.6+07:00"},{"name":"a"}]}}`))
	f.Add([]byte(`{"os":{},"addresses":[{"type":"Hostname","address":""}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		status, err := hostapi.ParseReport(body)
		if err != nil {
			mustBlameHost(t, err)
			return
		}
		if len(status.Message) > 1024 || !utf8.ValidString(status.Message) || len(status.Addresses) > 32 {
			t.Errorf("out of bounds: %+v", status)
		}
		mustFit(t, status.Upgrade)
		patch, err := hostapi.StatusPatch(status)
		if err != nil {
			t.Fatalf("making a patch: %v", err)
		}
		stored := infrav1.ElementalHost{}
		if err := json.Unmarshal(patch, &stored); err != nil {
			t.Fatalf("reading the patch: %v", err)
		}
		if !equality.Semantic.DeepEqual(stored.Status, status) {
			t.Errorf("stored as %+v, want %+v", stored.Status, status)
		}
	})
}

// mustFit says what of an attempt's checks the API server would not store.
func mustFit(t *testing.T, attempt *infrav1.HostUpgradeStatus) {
	if attempt == nil {
		return
	}
	names := map[string]bool{}
	for _, check := range attempt.Checks {
		names[check.Name] = true
		text := check.Name + string(check.Verdict) + check.Output
		if check.Name == "" || len(check.Name) > 288 || len(check.Verdict) > 32 || len(check.Output) > 256 || !utf8.ValidString(text) {
			t.Errorf("out of bounds: %+v", check)
		}
	}
	if len(names) != len(attempt.Checks) || len(names) > 32 {
		t.Errorf("%d names of %d checks", len(names), len(attempt.Checks))
	}
}

// FuzzHostCreate tries to find a registration that gets past the checks with a name, a key or a label
// that a host must not have.
func FuzzHostCreate(f *testing.F) {
	f.Add([]byte(`{"name":"m-1","pubKey":"x"}`))
	f.Add([]byte(`{"name":"m-1","labels":{"a":"b"},"annotations":{"example.com/a":"b"},"pubKey":` +
		`"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA6kp2tF8oAvgaCvKdAxYFmsdtv7uCX1+Pp4fh2tc7XGI=\n-----END PUBLIC KEY-----\n"}`))
	f.Add([]byte(`{"name":"m-1","labels":{"Cluster.X-K8s.io/x":"b"},"pubKey":` +
		`"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA6kp2tF8oAvgaCvKdAxYFmsdtv7uCX1+Pp4fh2tc7XGI=\n-----END PUBLIC KEY-----\n"}`))
	f.Add([]byte(`{"name":"../m","pubKey":""}{}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		asked, key, err := hostapi.ParseCreate(body)
		if err != nil {
			mustBlameHost(t, err)
			return
		}
		if len(key) == 0 || len(asked.Name) > 63 || len(validation.IsDNS1123Subdomain(asked.Name)) > 0 {
			t.Errorf("accepted the name %q and a key of %d bytes", asked.Name, len(key))
		}
		mustBeHarmless(t, asked)
	})
}

// mustBlameHost demands a refusal with a reason: an error of another kind would be a 500.
func mustBlameHost(t *testing.T, err error) {
	t.Helper()
	if status := hostapi.StatusOf(err); status != http.StatusBadRequest {
		t.Errorf("status %d for %v", status, err)
	}
}

func mustBeHarmless(t *testing.T, asked wire.HostCreate) {
	t.Helper()
	for _, entries := range []map[string]string{asked.Labels, asked.Annotations} {
		for key := range entries {
			domain, _, qualified := strings.Cut(strings.ToLower(key), "/")
			if !qualified {
				continue
			}
			for _, reserved := range []string{"kubernetes.io", "k8s.io", "cluster.x-k8s.io"} {
				if strings.HasSuffix("."+domain, "."+reserved) {
					t.Errorf("accepted %q", key)
				}
			}
		}
	}
}
