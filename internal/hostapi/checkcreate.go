// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/smbios"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// maxName of a host: it is the name of its Node too, and the value of labels.
const maxName = validation.DNS1123LabelMaxLength

// maxProposed is the maximum total size of the labels and annotations that a host proposes, in bytes, as the JSON that is stored.
const maxProposed = 4 << 10

// reservedDomains are those whose labels and annotations have a meaning for Kubernetes, Cluster API or this provider, including subdomains.
// A host that could set them could approve, trigger or select itself.
var reservedDomains = []string{"kubernetes.io", "k8s.io", "cluster.x-k8s.io"}

// checkCreate returns the key of a well-formed registration of a host.
func checkCreate(asked wire.HostCreate) (ed25519.PublicKey, error) {
	if len(asked.Name) > maxName || len(validation.IsDNS1123Subdomain(asked.Name)) > 0 {
		return nil, refuse(http.StatusBadRequest,
			"name is %q, want at most %d of a-z, 0-9, '-' and '.', beginning and ending with a letter or digit",
			shorten(asked.Name, maxShort), maxName)
	}
	if err := checkKeys("label", asked.Labels); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(asked.Labels)) {
		if reasons := validation.IsValidLabelValue(asked.Labels[key]); len(reasons) > 0 {
			return nil, refuse(http.StatusBadRequest, "value of label %q is not valid: %s", key, reasons[0])
		}
	}
	if err := checkKeys("annotation", asked.Annotations); err != nil {
		return nil, err
	}
	if err := checkProposed(asked); err != nil {
		return nil, err
	}
	if err := checkSMBIOS(asked.SMBIOS); err != nil {
		return nil, err
	}
	key, err := token.ParsePublicKey(asked.PubKey)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "pubKey is not a PEM-encoded (PKIX) Ed25519 public key: %s", err)
	}
	return key, nil
}

// checkProposed keeps unapproved hosts from filling etcd.
func checkProposed(asked wire.HostCreate) error {
	size := 0
	for _, entries := range []map[string]string{asked.Labels, asked.Annotations} {
		if len(entries) == 0 {
			continue
		}
		encoded, err := json.Marshal(entries)
		if err != nil {
			return fmt.Errorf("measuring labels and annotations of host %s: %w", asked.Name, err)
		}
		size += len(encoded)
	}
	if size > maxProposed {
		return refuse(http.StatusBadRequest, "labels and annotations have %d bytes together, at most %d are taken", size, maxProposed)
	}
	return nil
}

// checkSMBIOS rejects fields that no template can refer to.
func checkSMBIOS(values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !smbios.Known(name):
			return refuse(http.StatusBadRequest, "smbios %q is not known", shorten(name, maxShort))
		case len(values[name]) > smbios.MaxValue:
			return refuse(http.StatusBadRequest, "smbios %q is longer than %d bytes", name, smbios.MaxValue)
		}
	}
	return nil
}

func checkKeys(kind string, entries map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		// Annotation keys are validated in lower case by the API server; the same is done for labels.
		if reasons := validation.IsQualifiedName(strings.ToLower(key)); len(reasons) > 0 {
			return refuse(http.StatusBadRequest, "%s %q is not valid: %s", kind, shorten(key, maxShort), reasons[0])
		}
		if reserved(key) {
			return refuse(http.StatusBadRequest, "%s %q is in a reserved domain: a host cannot set it on itself", kind, key)
		}
	}
	return nil
}

func reserved(key string) bool {
	domain, _, qualified := strings.Cut(strings.ToLower(key), "/")
	return qualified && slices.ContainsFunc(reservedDomains, func(one string) bool {
		return domain == one || strings.HasSuffix(domain, "."+one)
	})
}
