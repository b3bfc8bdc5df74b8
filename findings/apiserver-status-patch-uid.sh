#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  k8s.io/apiextensions-apiserver v0.36.3, k8s.io/apiserver v0.36.3, go.etcd.io/etcd/server/v3 v3.6.8
# Guess:     A patch with metadata.uid applies to the object with that uid alone, also one of the status: the kubelet patches
#            the status of Pods in that way, and a patch of the object itself, or an update of the status, is refused.
# Behaviour: A patch of the status of a custom resource is stored whatever uid it has: its metadata are replaced by those that are
#            stored before they are compared. A client that has read an object, which was then deleted and created again by
#            the same name, writes the status of the former one to the new one.
# Seen:      what expect compares below. The object has another uid than "another" in each case.
# Source:    PrepareForUpdate in pkg/registry/customresource/status_strategy.go of apiextensions-apiserver;
#            https://github.com/kubernetes/kubernetes/pull/86320 for the kubelet; the uid of an update is a precondition
#            (Preconditions in pkg/registry/rest/update.go of apiserver)
# Here:      internal/hostapi/reporter.go compares the uid of the object that such a patch returns, and refuses the report (refuseHeir).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib-apiserver.sh"
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

apiserver_module
go_run <<'GO'
package main

import (
	"fmt"
	"net/http"

	"k8s.io/apiextensions-apiserver/pkg/apiserver"
)

func main() {
	serve(func(*apiserver.Config) {})
	_, stored, _ := call(http.MethodGet, host, plain, "")
	show := func(what, verb, path, contentType, body string) {
		code, answer, _ := call(verb, path, contentType, body)
		if code != http.StatusOK {
			fmt.Printf("%s: %d\n", what, code)
			return
		}
		fmt.Printf("%s: %d, to the stored object: %v\n", what, code, answer.GetUID() == stored.GetUID())
	}
	const (
		head   = `"apiVersion":"example.com/v1","kind":"Host"`
		status = `"status":{"phase":"Ready"}`
	)
	show("patch of the object", http.MethodPatch, host, merge, `{"metadata":{"uid":"another","labels":{"a":"b"}}}`)
	show("update of the status", http.MethodPut, host+"/status", plain,
		`{`+head+`,"metadata":{"name":"h","uid":"another","resourceVersion":"`+stored.GetResourceVersion()+`"},`+status+`}`)
	show("patch of the status", http.MethodPatch, host+"/status", merge, `{"metadata":{"uid":"another"},`+status+`}`)
	show("server-side apply of the status", http.MethodPatch, host+"/status?fieldManager=finding", apply,
		`{`+head+`,"metadata":{"name":"h","uid":"another"},`+status+`}`)
}
GO
expect <<'SEEN'
patch of the object: 422
update of the status: 409
patch of the status: 200, to the stored object: true
server-side apply of the status: 200, to the stored object: true
SEEN
