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
	"slices"
	"strings"

	casesensitive "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Decode returns the OS version of an osVersionManagement, or the zero value if it has none. Its image is in ImageURI, by whichever name it was
// given, and empty before the lookup of its ManagedOSVersion. It fails for what the schema refuses, and version 0.7 has stored: fields of other
// types, or two images; the error says which one, and what it has to be.
func Decode(management infrav1.OSVersionManagement) (infrav1.OSVersion, error) {
	if raw := management.Plugins[infrav1.OSVersionKey].Raw; len(raw) > 0 {
		return infrav1.OSVersion{}, invalid(casesensitive.Unmarshal(raw, &infrav1.OSVersion{}))
	}
	if management.OSVersion == nil {
		return infrav1.OSVersion{}, nil
	}
	if of := management.OSVersion; of.ImageURI != "" && of.ImageURIOfOperator != "" && of.ImageURI != of.ImageURIOfOperator {
		return infrav1.OSVersion{}, errors.New("osVersionManagement.osVersion.imageUri and imageURI are two images: remove imageUri")
	}
	version := *management.OSVersion.DeepCopy()
	version.ImageURI, version.ImageURIOfOperator = version.Image(), ""
	if isUnresolved(&version) {
		version.ImageURI = ""
	}
	return version, nil
}

// IsReadable reports whether Decode does not fail. What it fails for is given to no object: its schema would refuse it.
func IsReadable(management infrav1.OSVersionManagement) bool {
	_, err := Decode(management)
	return err == nil
}

// isUnresolved reports whether an image, if there is one, is not that of the ManagedOSVersion that is named.
func isUnresolved(version *infrav1.OSVersion) bool {
	return version.ManagedOSVersionName != "" && version.ManagedOSVersionName != version.ResolvedFrom
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

// Image returns the image of an OS version; empty if it specifies none, and before its ManagedOSVersion has been looked up.
func Image(management infrav1.OSVersionManagement) string {
	version, err := Decode(management)
	if err != nil {
		return ""
	}
	return version.ImageURI
}

// OfImage specifies an image, and nothing else.
func OfImage(image string) infrav1.OSVersionManagement {
	return infrav1.OSVersionManagement{OSVersion: &infrav1.OSVersion{ImageURI: image}}
}

// Normalized is a copy in which an image has its first name, for what the provider records.
func Normalized(management infrav1.OSVersionManagement) infrav1.OSVersionManagement {
	normalized := *management.DeepCopy()
	if version := normalized.OSVersion; version != nil {
		version.ImageURI, version.ImageURIOfOperator = version.Image(), ""
	}
	return normalized
}

// IsImageOnly reports whether an OS can be verified by the booted image alone. The recovery system, and settings of other OS plugins,
// cannot be observed on a host.
func IsImageOnly(management infrav1.OSVersionManagement) bool {
	return management.OSVersion != nil && len(management.Plugins) == 0 && !ptr.Deref(management.OSVersion.UpgradeRecovery, false)
}

// Hash identifies the specified OS by a full SHA-256, so that nobody who can write one OS version can find another with the same hash. It is
// independent of the order of keys, of white space and of the name that the image was given by, and ignores osVersion.debug: the predecessor's
// hash included it, so that toggling it upgraded the same image again. The source of the image is included only until the image is looked up. It
// is empty if no OS is specified.
func Hash(management infrav1.OSVersionManagement) string {
	if management.IsZero() {
		return ""
	}
	parts := make(map[string][]byte, len(management.Plugins)+1)
	for key, value := range management.Plugins {
		parts[key] = canonical(key, value.Raw)
	}
	if management.OSVersion != nil {
		encoded, _ := json.Marshal(management.OSVersion) // strings and booleans alone
		parts[infrav1.OSVersionKey] = canonical(infrav1.OSVersionKey, encoded)
	}
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(sum, "%q:%s\n", key, parts[key])
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
		identify(fields)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return encoded
}

// identify leaves of an OS version what identifies it: either its image, as imageUri, or the ManagedOSVersion that has not been looked up. A
// change of what it leaves is one of hashForm.
func identify(fields map[string]any) {
	if image, found := fields["imageURI"]; found {
		fields["imageUri"] = image
	}
	name, _ := fields["managedOSVersionName"].(string)
	if name == "" || fields["resolvedFrom"] == name {
		delete(fields, "managedOSVersionName")
	} else {
		delete(fields, "imageUri")
	}
	for _, key := range []string{"imageURI", "resolvedFrom", "debug"} {
		delete(fields, key)
	}
}
