// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package smbios

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// longestLabel is how long the value of a label may be.
const longestLabel = 63

var (
	placeholder = regexp.MustCompile(`\$\{([^{}]*)\}`)
	// unfit is what the value of a label cannot have.
	unfit = regexp.MustCompile(`[^-_.0-9A-Za-z]+`)
)

// Check says what is wrong with the templates in a registration's field: names that are no fields.
func Check(field string, templates map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(templates)) {
		for _, found := range placeholder.FindAllStringSubmatch(templates[key], -1) {
			if !Known(found[1]) {
				return fmt.Errorf("%s[%s]: %s is not known; use one of %s", field, key, found[0], names())
			}
		}
	}
	return nil
}

// FillLabels fills a host's values into labels. What a label cannot have becomes a dash. A label of which
// a value is missing is left out, so that no selector takes the host for one that has it.
func FillLabels(templates, values map[string]string) map[string]string {
	return fill(templates, values, func(value string) string {
		value = unfit.ReplaceAllString(value, "-")
		if len(value) > longestLabel {
			value = value[:longestLabel]
		}
		return strings.Trim(value, "-_.")
	})
}

// FillAnnotations fills a host's values into annotations, as they are.
func FillAnnotations(templates, values map[string]string) map[string]string {
	return fill(templates, values, func(value string) string { return value })
}

func fill(templates, values map[string]string, fit func(string) string) map[string]string {
	filled := make(map[string]string, len(templates))
	for key, template := range templates {
		if !placeholder.MatchString(template) {
			filled[key] = template
			continue
		}
		complete := true
		value := placeholder.ReplaceAllStringFunc(template, func(found string) string {
			given := strings.TrimSpace(values[found[2:len(found)-1]])
			complete = complete && given != ""
			return given
		})
		if value = fit(value); complete && value != "" {
			filled[key] = value
		}
	}
	return filled
}
