// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestAgent(t *testing.T) {
	specs.Run(t, "Agent")
}

// lasting is the content of a file that is put back at every boot: the OS plugin encodes it.
func lasting(root, name string) string {
	GinkgoHelper()
	written, err := os.ReadFile(filepath.Join(root, "oem", name))
	Expect(err).NotTo(HaveOccurred())
	found := struct {
		Stages map[string][]struct{ Files []struct{ Content string } }
	}{}
	Expect(yaml.Unmarshal(written, &found)).To(Succeed())
	for _, step := range found.Stages["boot"] {
		for _, file := range step.Files {
			content, err := base64.StdEncoding.DecodeString(file.Content)
			Expect(err).NotTo(HaveOccurred())
			return string(content)
		}
	}
	Fail(name + " writes no file")
	return ""
}
