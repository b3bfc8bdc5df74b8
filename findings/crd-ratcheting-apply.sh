#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  k8s.io/apiextensions-apiserver v0.36.3, k8s.io/apiserver v0.36.3, go.etcd.io/etcd/server/v3 v3.6.8
# Guess:     Where a CRD gives a field a type, objects that were stored with another one before can still be changed otherwise, by
#            whichever verb: the API server does not validate again what a change leaves as it is (ratcheting).
# Behaviour: That holds for updates and merge patches. A server-side apply to such an object is answered with 500, whatever it
#            applies, because the stored object is typed by the schema first. A controller that applies labels alone is stopped.
# Seen:      what expect compares below. The object has the text "yes" in a field that is a boolean by now.
# Source:    "failed to create typed live object" in util/managedfields/internal/structuredmerge.go of apimachinery;
#            https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting
# Here:      docs/adr/0028-the-os-is-typed.md and docs/migration.md: what version 0.7 has stored is corrected by a merge patch, as Cluster API
#            applies labels to ElementalMachines.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib-apiserver.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

apiserver_module
go_run <<'GO'
package main

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apiserver"
)

const (
	head  = `"apiVersion":"example.com/v1","kind":"Host"`
	other = `{` + head + `,"metadata":{"name":"other"},"spec":{"debug":"yes"}}`
)

// give the definition a schema of spec, and wait until a boolean as a text is accepted or refused by it.
func give(spec string, code int) {
	schema := `{"type":"object","properties":{"spec":` + spec + `,"status":{"type":"object","properties":{"phase":{"type":"string"}}}}}`
	patch := `{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":` + schema + `}}]}}`
	if answer, _, _ := call(http.MethodPatch, definitions+"/hosts.example.com", merge, patch); answer != http.StatusOK {
		panic(fmt.Sprintf("the definition was not changed: %d", answer))
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		answer, made, _ := call(http.MethodPost, hosts+"?dryRun=All", plain, other)
		kept := code != http.StatusCreated || made.Object["spec"] != nil
		if answer == code && kept {
			return
		}
		if time.Now().After(deadline) {
			panic("the schema is not served")
		}
	}
}

func main() {
	serve(func(*apiserver.Config) {})
	give(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, http.StatusCreated)
	if code, _, _ := call(http.MethodPost, hosts, plain, other); code != http.StatusCreated {
		panic(fmt.Sprintf("the object was not created: %d", code))
	}
	give(`{"type":"object","properties":{"debug":{"type":"boolean"}}}`, http.StatusUnprocessableEntity)

	const path = hosts + "/other"
	code, stored, _ := call(http.MethodPatch, path, merge, `{"metadata":{"labels":{"a":"1"}}}`)
	fmt.Println("merge patch of a label:", code)
	stored.SetLabels(map[string]string{"a": "2"})
	body, err := stored.MarshalJSON()
	check(err)
	code, _, _ = call(http.MethodPut, path, plain, string(body))
	fmt.Println("update of a label:", code)
	labels := `{` + head + `,"metadata":{"name":"other","labels":{"a":"3"}}}`
	code, _, _ = call(http.MethodPatch, path+"?fieldManager=finding", apply, labels)
	fmt.Println("server-side apply of a label:", code)
	code, _, _ = call(http.MethodPatch, path, merge, `{"spec":{"debug":true}}`)
	fmt.Println("merge patch that corrects the field:", code)
	code, _, _ = call(http.MethodPatch, path+"?fieldManager=finding&force=true", apply, labels)
	fmt.Println("server-side apply of a label then:", code)
}
GO
expect <<'SEEN'
merge patch of a label: 200
update of a label: 200
server-side apply of a label: 500
merge patch that corrects the field: 200
server-side apply of a label then: 200
SEEN
