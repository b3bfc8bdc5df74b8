// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagetrust"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imageuri"
)

// validateImageVerification rejects rules by which hosts could not verify images.
func validateImageVerification(verification *infrav1.ImageVerification, path *field.Path) field.ErrorList {
	if verification == nil {
		return nil
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, rule := range verification.Rules {
		at := path.Child("rules").Index(i)
		prefix, err := imageuri.ParsePrefix(rule.Prefix)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(at.Child("prefix"), rule.Prefix, err.Error()))
		case seen[prefix]:
			errs = append(errs, field.Duplicate(at.Child("prefix"), rule.Prefix))
		}
		seen[prefix] = true
		for j, key := range rule.PublicKeys {
			if _, err := imagetrust.ParseKey(key); err != nil {
				errs = append(errs, field.Invalid(at.Child("publicKeys").Index(j), key, err.Error()))
			}
		}
		for j, identity := range rule.Identities {
			if _, err := imagetrust.SubjectPattern(identity.SubjectRegExp); err != nil {
				errs = append(errs, field.Invalid(at.Child("identities").Index(j).Child("subjectRegExp"), identity.SubjectRegExp, err.Error()))
			}
		}
	}
	return errs
}

// validateInsecureRegistries rejects prefixes that no image name can have.
func validateInsecureRegistries(prefixes []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, prefix := range prefixes {
		if _, err := imageuri.ParsePrefix(prefix); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), prefix, err.Error()))
		}
	}
	return errs
}
