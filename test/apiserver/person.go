// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Person is a client with all permissions that is not the manager.
type Person struct {
	client.Client

	// Warnings that the API server returned, in order. They may be cleared.
	Warnings []string
}

// HandleWarningHeader records a warning; see rest.WarningHandler.
func (p *Person) HandleWarningHeader(_ int, _ string, text string) {
	p.Warnings = append(p.Warnings, text)
}

// NewPerson returns a Person at a Server.
func (s *Server) NewPerson() *Person {
	GinkgoHelper()
	person := &Person{}
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "jane", Groups: []string{"system:masters"}}
	config.WarningHandler = person
	var err error
	person.Client, err = client.New(config, client.Options{Scheme: s.Scheme})
	Expect(err).NotTo(HaveOccurred())
	return person
}
