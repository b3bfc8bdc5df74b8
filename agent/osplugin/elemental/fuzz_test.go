// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// FuzzConvert tries to find a cloud-config that is accepted and whose steps cannot be written, or that loses a key
// without naming it.
func FuzzConvert(f *testing.F) {
	f.Add("#cloud-config\nwrite_files:\n- path: /a\n  permissions: \"0o600\"\n  content: x\nruncmd:\n- kubeadm init\n- [a, b]\n")
	f.Add("## template: jinja\n#cloud-config\nusers:\n- default\n- name: a\n  ssh_authorized_keys: [k]\n")
	f.Add("hostname: m-1\nntp: {}\n")
	f.Add("write_files:\n- append: true\n")
	f.Add("runcmd: &a [*a]\n")
	f.Add("- 1\n")
	f.Fuzz(func(t *testing.T, config string) {
		data, err := convert(config)
		if err != nil {
			return
		}
		if _, err := yaml.Marshal(bootstrapSteps(data)); err != nil {
			t.Errorf("the steps of %q cannot be written: %v", config, err)
		}
		if !slices.IsSorted(data.ignored) {
			t.Errorf("what is ignored of %q is not sorted: %v", config, data.ignored)
		}
	})
}

// FuzzEscape tries to find text that the engine's templates change.
func FuzzEscape(f *testing.F) {
	for _, text := range []string{"", "{{ .A }}", "{{- end -}} x", "{{{{{", "}}{{", "{{\"{{\"}}", "{{/* x */}}", "a {{`", "{\x00\xff{{\r\n}}", "{ {{ {"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := template.New("x").Parse(escape(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		rendered := strings.Builder{}
		if err := parsed.Execute(&rendered, map[string]any{}); err != nil || rendered.String() != text {
			t.Errorf("%q becomes %q, %v", text, rendered.String(), err)
		}
	})
}

// FuzzState tries to find a state.yaml that makes the agent panic: the file is the elemental CLI's.
func FuzzState(f *testing.F) {
	f.Add([]byte("date: \"2026\"\nstate:\n  snapshots:\n    1:\n      source: oci://a\n      active: true\n"))
	f.Add([]byte("state:\n  snapshots:\n    x: {}\n"))
	f.Add([]byte("state: null\n"))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		state := installState{}
		if err := yaml.Unmarshal(content, &state); err != nil {
			return
		}
		if _, err := yaml.Marshal(state); err != nil {
			t.Errorf("%q cannot be written again: %v", content, err)
		}
	})
}
