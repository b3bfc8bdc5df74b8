# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced, beside lib.sh: a real API server for custom resources, with an etcd of its own, as Go source beside a script's
# program. It is the apiextensions-apiserver of Kubernetes without authentication and authorization, on loopback.
# shellcheck shell=bash

# apiserver_module makes a Go module with serve(change), which starts the server, and call(), which sends a request to it.
apiserver_module() {
  go_modules k8s.io/apiextensions-apiserver@v0.36.3 k8s.io/apiserver@v0.36.3 k8s.io/apimachinery@v0.36.3 k8s.io/client-go@v0.36.3 \
    go.etcd.io/etcd/server/v3@v3.6.8
  cat >server.go <<'GO'
package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
)

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	definition  = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"hosts.example.com"},
"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"hosts","singular":"host","kind":"Host","listKind":"HostList"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object",
"properties":{"status":{"type":"object","properties":{"phase":{"type":"string"}}}}}}}]}}`

	hosts     = "/apis/example.com/v1/hosts"
	host      = hosts + "/h"
	plain     = "application/json"
	merge     = "application/merge-patch+json"
	apply     = "application/apply-patch+yaml"
	unwritten = `{"apiVersion":"example.com/v1","kind":"Host","metadata":{"name":"h"}}`
)

var client *rest.Config

// serve starts the server, after change has changed its configuration, and creates the host h.
func serve(change func(*apiserver.Config)) {
	check(os.WriteFile("kubeconfig", []byte("apiVersion: v1\nkind: Config\nclusters: [{name: none, cluster: {server: 'http://127.0.0.1:1'}}]\n"+
		"contexts: [{name: none, context: {cluster: none}}]\ncurrent-context: none\n"), 0o600))
	of := options.NewCustomResourceDefinitionsServerOptions(io.Discard, io.Discard)
	recommended := of.RecommendedOptions
	recommended.Etcd.StorageConfig.Transport.ServerList = []string{startEtcd()}
	recommended.Authentication, recommended.Authorization, recommended.Admission = nil, nil, nil
	recommended.CoreAPI.CoreAPIKubeconfigPath = "kubeconfig" // it has to be there, and is never used
	recommended.Features.EnablePriorityAndFairness = false
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	recommended.SecureServing.Listener, recommended.SecureServing.ServerCert.CertDirectory = listener, "certificates"
	check(of.Complete())
	config, err := of.Config()
	check(err)
	change(config)
	server, err := config.Complete().New(genericapiserver.NewEmptyDelegate())
	check(err)
	client = config.GenericConfig.LoopbackClientConfig
	go func() { check(server.GenericAPIServer.PrepareRun().RunWithContext(context.Background())) }()
	until(http.StatusCreated, http.MethodPost, definitions, definition)
	until(http.StatusCreated, http.MethodPost, hosts, unwritten)
}

// until sends a request until it is answered with a code: a server, and a definition, take a moment to be served.
func until(code int, verb, path, body string) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		request, err := http.NewRequest(verb, client.Host+path, strings.NewReader(body))
		check(err)
		request.Header.Set("Content-Type", plain)
		response, err := httpClient().Do(request)
		if err == nil {
			check(response.Body.Close())
			if response.StatusCode == code {
				return
			}
		}
		if time.Now().After(deadline) {
			panic("the API server does not serve " + path)
		}
	}
}

// call sends a request, and returns the code, the object and the warnings of the answer.
func call(verb, path, contentType, body string) (int, *unstructured.Unstructured, []string) {
	request, err := http.NewRequest(verb, client.Host+path, strings.NewReader(body))
	check(err)
	request.Header.Set("Content-Type", contentType)
	response, err := httpClient().Do(request)
	check(err)
	answer, err := io.ReadAll(response.Body)
	check(err)
	check(response.Body.Close())
	object := &unstructured.Unstructured{}
	check(runtime.DecodeInto(unstructured.UnstructuredJSONScheme, answer, object))
	return response.StatusCode, object, response.Header.Values("Warning")
}

func httpClient() *http.Client {
	client, err := rest.HTTPClientFor(client)
	check(err)
	return client
}

func startEtcd() string {
	config := embed.NewConfig()
	config.Dir, config.LogLevel = "etcd", "error"
	free := func() url.URL {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		check(err)
		defer listener.Close()
		return url.URL{Scheme: "http", Host: listener.Addr().String()}
	}
	config.ListenClientUrls, config.ListenPeerUrls = []url.URL{free()}, []url.URL{free()}
	config.AdvertiseClientUrls, config.AdvertisePeerUrls = config.ListenClientUrls, config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	check(err)
	<-etcd.Server.ReadyNotify()
	return config.ListenClientUrls[0].String()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
}
