#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  k8s.io/client-go v0.36.3
# Guess:     Kinds are case sensitive: "secret" is no kind, and a RESTMapper of discovery does not find it. So a list of kinds
#            that a program must not read can be compared with the kind of an object as it is written.
# Behaviour: The mapper finds each resource by its kind in lower case as well, and the mapping has the kind as it was asked for.
#            Other spellings are not found. What is compared with "Secret" lets "secret" pass, which reads Secrets.
# Seen:      what expect compares below.
# Source:    NewDiscoveryRESTMapper in restmapper/discovery.go of client-go, which adds strings.ToLower(resource.Kind) beside
#            the kind.
# Here:      internal/clusterupgrade/gate/object.go maps the kind first, and compares the resource (isSecret).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules k8s.io/client-go@v0.36.3 k8s.io/apimachinery@v0.36.3
go_run <<'GO'
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

var answers = map[string]string{
	"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":   `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","singularName":"secret","namespaced":true,"kind":"Secret","verbs":["get"]}]}`,
}

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answers[r.URL.Path])
	}))
	defer server.Close()
	groups, err := restmapper.GetAPIGroupResources(discovery.NewDiscoveryClientForConfigOrDie(&rest.Config{Host: server.URL}))
	if err != nil {
		panic(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, kind := range []string{"Secret", "secret", "SECRET"} {
		mapping, err := mapper.RESTMapping(schema.GroupKind{Kind: kind}, "v1")
		if err != nil {
			fmt.Printf("%s: not found\n", kind)
			continue
		}
		fmt.Printf("%s: resource %s, kind %s\n", kind, mapping.Resource.Resource, mapping.GroupVersionKind.Kind)
	}
}
GO
expect <<'SEEN'
Secret: resource secrets, kind Secret
secret: resource secrets, kind secret
SECRET: not found
SEEN
