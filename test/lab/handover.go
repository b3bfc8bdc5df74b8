// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

// TakeOver makes hosts reach the Elemental API of this lab at the address of the lab that it succeeds, or of the lab
// that succeeded that one, as a change of a DNS record or a virtual IP would. Their open connections are closed.
func (l *Lab) TakeOver() {
	apis := make([]int, 0, len(l.ports))
	for _, ports := range l.ports {
		apis = append(apis, ports.api)
	}
	address := l.services.api
	if l.options.Succeeds != nil {
		address = l.options.Succeeds.services.api
	}
	address.Replace(apis...)
}

// apiCertDir holds the certificate of the Elemental API. Hosts pin its CA: a lab that takes over from another must
// serve a certificate of the same CA.
func (l *Lab) apiCertDir(manager *capi.Provider) (string, error) {
	if l.options.Succeeds == nil {
		return manager.CertDir(l.env), nil
	}
	authority := l.options.Succeeds.Management.Authority()
	pair, err := authority.Server(manager.Name)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(l.env.Dir, manager.Name+"-api-tls")
	return dir, authority.WriteServing(dir, pair)
}
