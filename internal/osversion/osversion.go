// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osversion

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	casesensitive "k8s.io/apimachinery/pkg/util/json"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Decode returns the OS version of an osVersionManagement, or the zero value if it has none. Its image is empty before the lookup of its
// ManagedOSVersion. It fails if the key "osVersion" is not an object with fields of the right types; the error says which one, and what it
// has to be. Keys are case-sensitive, as they are in the schema of ElementalMachineTemplates: another spelling is an unknown key.
func Decode(management infrav1.OSVersionManagement) (infrav1.OSVersion, error) {
	raw, found := management[infrav1.OSVersionKey]
	if !found || len(raw.Raw) == 0 {
		return infrav1.OSVersion{}, nil
	}
	version := infrav1.OSVersion{}
	if err := casesensitive.Unmarshal(raw.Raw, &version); err != nil {
		return infrav1.OSVersion{}, invalid(err)
	}
	if version.ManagedOSVersionName != "" && version.ManagedOSVersionName != version.ResolvedFrom {
		version.ImageURI = ""
	}
	return version, nil
}

// invalid turns an error of the decoder into one that names the field, what it is, and what it has to be.
func invalid(err error) error {
	const key = "osVersionManagement." + infrav1.OSVersionKey
	mismatch := (*json.UnmarshalTypeError)(nil)
	switch {
	case !errors.As(err, &mismatch):
		return fmt.Errorf("decoding %s: %w", key, err)
	case mismatch.Field == "":
		return fmt.Errorf("%s is of JSON type %s, and has to be an object", key, mismatch.Value)
	}
	return fmt.Errorf("%s.%s is of JSON type %s, and has to be a %s", key, mismatch.Field, mismatch.Value, mismatch.Type)
}

// Image returns the image of an OS version, and whether it specifies one; that image may be empty, which is invalid. A ManagedOSVersion does
// not count as specifying one.
func Image(management infrav1.OSVersionManagement) (uri string, asked bool) {
	fields := struct {
		ImageURI *string `json:"imageUri"`
	}{}
	err := casesensitive.Unmarshal(management[infrav1.OSVersionKey].Raw, &fields)
	if err != nil || fields.ImageURI == nil || Unresolved(management) != "" {
		return "", false
	}
	return *fields.ImageURI, true
}

// IsImageOnly reports whether an OS can be verified by the booted image alone. The recovery system, and settings of other OS plugins,
// cannot be observed on a host.
func IsImageOnly(management infrav1.OSVersionManagement) bool {
	version, err := Decode(management)
	return err == nil && len(management) == 1 && !version.UpgradeRecovery
}

// Unknown returns the keys of an OS version that the elemental OS plugin does not support, sorted.
func Unknown(management infrav1.OSVersionManagement) []string {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(management[infrav1.OSVersionKey].Raw, &fields); err != nil {
		return nil
	}
	for _, known := range Keys() {
		delete(fields, known)
	}
	return slices.Sorted(maps.Keys(fields))
}

// Keys returns the supported keys, in the order of the documentation.
func Keys() []string {
	keys := []string{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[infrav1.OSVersion]()) {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return keys
}

// Hash identifies the specified OS by a full SHA-256, so that nobody who can write one OS version can find another with the same hash. It is
// independent of the order of keys and of white space, and ignores osVersion.debug: the predecessor's hash included it, so that toggling it
// upgraded the same image again. The source of the image is included only until the image is looked up. It is empty if no OS is specified.
func Hash(management infrav1.OSVersionManagement) string {
	if len(management) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(management)) {
		fmt.Fprintf(sum, "%q:%s\n", key, canonical(key, management[key].Raw))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// hashForm is the version of what Hash covers and how. Hashes that were stored in another form are not comparable. Raise it with every change of that.
const hashForm = "1"

// Stored is a hash as annotations keep it, with the version of its form; empty for an empty one.
func Stored(hash string) string {
	if hash == "" {
		return ""
	}
	return hashForm + ":" + hash
}

// FromStored returns the hash that was stored, and whether it is in the form of Hash.
func FromStored(value string) (hash string, isKnown bool) {
	form, hash, _ := strings.Cut(value, ":")
	if form != hashForm {
		return "", false
	}
	return hash, true
}

// Same reports whether two osVersionManagements specify the same OS.
func Same(a, b infrav1.OSVersionManagement) bool { return Hash(a) == Hash(b) }

// SameImage reports whether two image URIs are the same image: "oci:", "oci://" and no scheme are equivalent, as for the elemental CLI.
func SameImage(a, b string) bool { return trimScheme(a) == trimScheme(b) }

func trimScheme(uri string) string {
	return strings.TrimPrefix(strings.TrimPrefix(uri, "oci:"), "//")
}

// canonical re-encodes JSON with sorted keys; anything else is returned unchanged.
func canonical(key string, raw []byte) []byte {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return raw
	}
	if fields, isObject := value.(map[string]any); isObject && key == infrav1.OSVersionKey {
		delete(fields, "debug")
		identify(fields)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return encoded
}
