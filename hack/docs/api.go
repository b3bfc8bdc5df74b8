// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const generated = "<!-- Written by \"make generate-docs\": change the sources, not this page. -->\n\n"

// apiPage has a section for each kind, with a table of all its fields.
func apiPage(kinds []definition) []byte {
	page := bytes.NewBufferString("# Fields of the kinds\n\n" + generated +
		"All fields, as the API server validates them; \"required\" is within the object that the field is in. What the kinds are\n" +
		"for, and who writes what, is in the [reference](../reference.md#kinds).\n")
	for i := range kinds {
		for j := range kinds[i].Spec.Versions {
			writeKind(page, &kinds[i], &kinds[i].Spec.Versions[j])
		}
	}
	return page.Bytes()
}

func writeKind(page *bytes.Buffer, kind *definition, version *version) {
	names := kind.Spec.Names
	fmt.Fprintf(page, "\n## %s\n\n%s\n\n", names.Kind, oneLine(version.Schema.Root.Description))
	fmt.Fprintf(page, "`%s/%s`, `%s`", kind.Spec.Group, version.Name, names.Plural)
	for _, short := range names.ShortNames {
		fmt.Fprintf(page, ", `%s`", short)
	}
	page.WriteString("\n\n| Field | Type | Meaning |\n|---|---|---|\n")
	for _, part := range []string{"spec", "status"} {
		if node, has := version.Schema.Root.Properties[part]; has {
			writeFields(page, part, &node)
		}
	}
	if len(version.Columns) == 0 {
		return
	}
	page.WriteString("\n| Column | Shows | Meaning |\n|---|---|---|\n")
	for _, column := range version.Columns {
		meaning := column.Description
		if column.Priority > 0 {
			meaning = strings.TrimSpace(meaning + " (with `--output wide`)")
		}
		fmt.Fprintf(page, "| %s | `%s` | %s |\n", column.Name, cell(column.JSONPath), cell(meaning))
	}
}

// writeFields writes a line for each field beneath a path, in the order of their names.
func writeFields(page *bytes.Buffer, path string, node *schema) {
	for _, name := range slices.Sorted(maps.Keys(node.Properties)) {
		field := node.Properties[name]
		here := path + "." + name
		meaning := []string{oneLine(field.Description)}
		if slices.Contains(node.Required, name) {
			meaning = append(meaning, "Required.")
		}
		meaning = append(meaning, field.limits()...)
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", here, cell(field.kind()), cell(strings.TrimSpace(strings.Join(meaning, " "))))
		if field.wellKnown() != "" {
			continue
		}
		switch {
		case field.Items != nil:
			writeFields(page, here+"[]", field.Items)
		case field.Values != nil:
			writeFields(page, here+".*", field.Values)
		default:
			writeFields(page, here, &field)
		}
	}
}

// wellKnown is the name of a type of Kubernetes, whose fields are not repeated everywhere.
func (s *schema) wellKnown() string {
	element, list := s, ""
	if s.Items != nil {
		element, list = s.Items, "[]"
	}
	for name, fields := range map[string][]string{
		"Condition":     {"lastTransitionTime", "observedGeneration", "reason"},
		"LabelSelector": {"matchExpressions", "matchLabels"},
	} {
		if !slices.ContainsFunc(fields, func(field string) bool { _, has := element.Properties[field]; return !has }) {
			return list + name
		}
	}
	return ""
}

func (s *schema) kind() string {
	switch known := s.wellKnown(); {
	case known != "":
		return known
	case s.Items != nil:
		return "[]" + s.Items.kind()
	case s.Values != nil:
		return "map[string]" + s.Values.kind()
	case s.Format == "date-time":
		return "time"
	case s.Type == "":
		return "object"
	}
	return s.Type
}

// limits are the rules that the API server enforces, as sentences.
func (s *schema) limits() []string {
	said := []string{}
	if s.Default != nil {
		said = append(said, fmt.Sprintf("Default: `%v`.", s.Default))
	}
	if len(s.Enum) > 0 {
		values := []string{}
		for _, value := range s.Enum {
			values = append(values, fmt.Sprintf("`%v`", value))
		}
		said = append(said, "One of "+strings.Join(values, ", ")+".")
	}
	for _, limit := range []struct {
		text  string
		value *int64
	}{
		{"At least %d.", s.Minimum}, {"At most %d.", s.Maximum},
		{"Length at least %d.", s.MinLength}, {"Length at most %d.", s.MaxLength},
		{"Length at least %d.", s.MinItems}, {"Length at most %d.", s.MaxItems},
	} {
		if limit.value != nil {
			said = append(said, fmt.Sprintf(limit.text, *limit.value))
		}
	}
	for _, rule := range s.Rules {
		said = append(said, "Rule: "+rule.Message+".")
	}
	if s.Open {
		said = append(said, "Other keys are kept.")
	}
	return said
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// cell is a text as it can stand in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}
