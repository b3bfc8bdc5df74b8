// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"net/http"
	"slices"
	"strings"
)

const (
	basePath = "/elemental/v1/namespaces/{namespace}/registrations/{registration}"
	hostPath = basePath + "/hosts/{host}"
)

// route is one operation. Its name is the operationId in openapi.yaml and the label of its metrics.
type route struct {
	name   string
	method string
	path   string
	handle func(*Server, *http.Request) (reply, error)
}

func routes() []route {
	return []route{
		{"getRegistration", http.MethodGet, basePath, (*Server).getRegistration},
		{"createHost", http.MethodPost, basePath + "/hosts", (*Server).createHost},
		{"getDesired", http.MethodGet, hostPath + "/desired", (*Server).getDesired},
		{"reportHost", http.MethodPost, hostPath + "/report", (*Server).reportHost},
		{"getBootstrap", http.MethodGet, hostPath + "/bootstrap", (*Server).getBootstrap},
		{"getReset", http.MethodGet, hostPath + "/reset", (*Server).getReset},
		{"getAuthorities", http.MethodGet, hostPath + "/authorities", (*Server).getAuthorities},
		{"reportWiped", http.MethodPost, hostPath + "/wiped", (*Server).reportWiped},
		{"deleteHost", http.MethodDelete, hostPath, (*Server).deleteHost},
		{"patchHost", http.MethodPatch, hostPath, (*Server).patchHost},
	}
}

// handler serves the routes, and answers unknown paths in the same format.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, one := range routes() {
		mux.Handle(one.method+" "+one.path, s.endpoint(one))
		methods[one.path] = append(methods[one.path], one.method)
	}
	for path, allowed := range methods {
		mux.Handle(path, s.endpoint(route{name: "methodNotAllowed", handle: refuseMethod(allowed)}))
	}
	mux.Handle("/", s.endpoint(route{name: "notFound", handle: refusePath}))
	return mux
}

func refuseMethod(allowed []string) func(*Server, *http.Request) (reply, error) {
	slices.Sort(allowed)
	list := strings.Join(allowed, ", ")
	return func(_ *Server, r *http.Request) (reply, error) {
		refusal := refuse(http.StatusMethodNotAllowed, "method %s is not allowed here, use %s", r.Method, list)
		refusal.header = http.Header{"Allow": {list}}
		return reply{}, refusal
	}
}

func refusePath(_ *Server, _ *http.Request) (reply, error) {
	return reply{}, refuse(http.StatusNotFound, "there is nothing at this path; the API is below %s", basePath)
}

// patchHost answers agents of the predecessor (v0.7 and before), which patch their host.
func (s *Server) patchHost(r *http.Request) (reply, error) {
	s.recordOutdated(r)
	return reply{}, refuse(http.StatusGone,
		"hosts can no longer be patched: this agent is older than the API, install the elemental-agent of the API's release")
}
