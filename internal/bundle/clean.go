// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/redact"
)

// sensitiveField matches the names of fields whose values are left out, whatever they are: credentials, and what people write freely
// for machines and containers.
var sensitiveField = regexp.MustCompile(`(?i)(token|passw|credential|certificatekey|keydata|privatekey|stringdata|userdata|cloudconfig)|^(env|envFrom|args|command|variables|files|users|content)$`)

// specFields are the fields of spec that are kept of kinds of Cluster API which can carry the configuration of machines. Others, of
// those kinds, are left out.
var specFields = map[string][]string{
	"KubeadmControlPlane": {"replicas", "version", "machineTemplate", "rollout", "rolloutStrategy", "remediation"},
	"RKE2ControlPlane":    {"replicas", "version", "machineTemplate", "rolloutStrategy", "remediationStrategy"},
}

// clean changes an object so that it can be handed on.
func clean(object *unstructured.Unstructured) {
	object.SetManagedFields(nil)
	object.SetAnnotations(cleanAnnotations(object.GetAnnotations()))
	if kept, isLimited := specFields[object.GetKind()]; isLimited {
		if spec, isMap := object.Object["spec"].(map[string]any); isMap {
			object.Object["spec"] = only(spec, kept)
		}
	}
	for field, value := range object.Object {
		object.Object[field] = cleanValue(value)
	}
}

// cleanAnnotations keeps the values of Cluster API's annotations and of this provider's, unless they are whole objects.
func cleanAnnotations(annotations map[string]string) map[string]string {
	for key, value := range annotations {
		domain, _, _ := strings.Cut(key, "/")
		isObject := strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[")
		if isObject || domain != "cluster.x-k8s.io" && !strings.HasSuffix(domain, ".cluster.x-k8s.io") {
			annotations[key] = redact.Removed
		}
	}
	return annotations
}

func only(fields map[string]any, names []string) map[string]any {
	kept := map[string]any{}
	for _, name := range names {
		if value, has := fields[name]; has {
			kept[name] = value
		}
	}
	return kept
}

func cleanValue(value any) any {
	switch of := value.(type) {
	case map[string]any:
		cleanFields(of)
	case []any:
		for i := range of {
			of[i] = cleanValue(of[i])
		}
	case string:
		return redact.Text(of)
	}
	return value
}

func cleanFields(fields map[string]any) {
	for name, value := range fields {
		switch nested, isMap := value.(map[string]any); {
		case name == "annotations" && isMap:
			fields[name] = cleanNested(nested)
		case name == "osVersionManagement" && isMap:
			fields[name] = cleanOS(nested)
		case sensitiveField.MatchString(name):
			fields[name] = redact.Removed
		default:
			fields[name] = cleanValue(value)
		}
	}
}

// cleanNested is cleanAnnotations for those of an object, or of the template of one.
func cleanNested(annotations map[string]any) map[string]any {
	texts := map[string]string{}
	for key, value := range annotations {
		texts[key], _ = value.(string)
	}
	kept := map[string]any{}
	for key, value := range cleanAnnotations(texts) {
		kept[key] = redact.Text(value)
	}
	return kept
}

// cleanOS keeps what is known of an osVersionManagement: its other keys are an OS plugin's.
func cleanOS(management map[string]any) map[string]any {
	for key, value := range management {
		management[key] = redact.Removed
		if key == infrav1.OSVersionKey {
			management[key] = cleanValue(value)
		}
	}
	return management
}
