#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  k8s.io/apiextensions-apiserver v0.36.3
# Guess:     A printer column of type "date" shows how far a time is away, as "2h", whether it has passed or is to come.
# Behaviour: It shows ages alone: a time that is to come is <invalid> in the output of kubectl get, as if the object were broken.
# Seen:      what expect compares below.
# Source:    ConvertToHumanReadableDateType in pkg/api/meta/table/table.go, and HumanDuration in pkg/util/duration of apimachinery. The
#            documentation of CRDs says that the type is shown as the time since then:
#            https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns
# Here:      column ETA of ElementalClusterUpgrade has type "string" (api/v1beta1/elementalclusterupgrade_types.go).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules k8s.io/apiextensions-apiserver@v0.36.3 k8s.io/apimachinery@v0.36.3
go_run <<'GO'
package main

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func main() {
	columns := []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Time", Type: "date", JSONPath: ".status.time"}}
	table, err := tableconvertor.New(columns)
	check(err)
	for _, hours := range []int{-48, 48} {
		at := time.Now().Add(time.Duration(hours) * time.Hour).UTC().Format(time.RFC3339)
		object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"time": at}}}
		shown, err := table.ConvertToTable(context.Background(), object, nil)
		check(err)
		fmt.Printf("%d hours from now: %v\n", hours, shown.Rows[0].Cells[1])
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
expect <<'SEEN'
-48 hours from now: 2d
48 hours from now: <invalid>
SEEN
