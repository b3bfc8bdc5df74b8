#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  sigs.k8s.io/cluster-api v1.14.2 (clusterctl)
# Guess:     clusterctl fills in the variables of a provider's components, such as ${TOKEN} in a Secret. Text that is no such
#            name stays as it is, and prose in the descriptions of a CRD has no part in it.
# Behaviour: The whole file is one template, descriptions included. A dollar sign before a brace in one description makes all
#            components of a release unreadable, or becomes a variable that each user has to set. Two dollar signs become one.
# Seen:      what expect compares below.
# Source:    cmd/clusterctl/client/yamlprocessor/simple_processor.go of Cluster API, by github.com/drone/envsubst; the form of
#            variables came with https://github.com/kubernetes-sigs/cluster-api/pull/3270
# Here:      comments of API fields say "in braces after a dollar sign" (api/v1beta1/elementalregistration_types.go). docs/development.md
#            says why.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules sigs.k8s.io/cluster-api@v1.14.2
go_run <<'GO'
package main

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

// process shows what becomes of the description of a field.
func process(description string) {
	crd := "kind: CustomResourceDefinition\nspec: {versions: [{schema: {openAPIV3Schema: {description: '" + description + "'}}}]}\n"
	unset := func(string) (string, error) { return "", errors.New("not set") }
	out, err := yamlprocessor.NewSimpleProcessor().Process([]byte(crd), unset)
	if err != nil {
		message, _, _ := strings.Cut(err.Error(), ". ")
		fmt.Printf("%s: error: %s\n", description, message)
		return
	}
	_, after, _ := strings.Cut(string(out), "description: '")
	after, _, _ = strings.Cut(after, "'")
	fmt.Printf("%s: %s\n", description, after)
}

func main() {
	process("Labels such as ${System Information/UUID}")
	process("A value such as ${}")
	process("Set it to ${ADDRESS}")
	process("A price of $$5")
	process("A variable such as $HOME")
}
GO
expect <<'SEEN'
Labels such as ${System Information/UUID}: error: missing closing brace
A value such as ${}: error: unable to parse variable name
Set it to ${ADDRESS}: error: value for variables [ADDRESS] is not set
A price of $$5: A price of $5
A variable such as $HOME: A variable such as $HOME
SEEN
