// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// extensionCertificate is the certificate of the runtime extension's Service, which is installed apart from the
// manager: it may not be there yet, come later, and go again.
type extensionCertificate struct {
	dir string

	mu       sync.Mutex
	loaded   *tls.Certificate
	modified time.Time
}

// forItsName shows the certificate to callers who ask for one of its names. All others, who call webhooks, get what the
// server has.
func (e *extensionCertificate) forItsName(config *tls.Config) {
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		certificate := e.current()
		if certificate == nil || certificate.Leaf.VerifyHostname(hello.ServerName) != nil {
			return nil, nil
		}
		chosen := config.Clone()
		chosen.GetConfigForClient, chosen.GetCertificate = nil, nil
		chosen.Certificates = []tls.Certificate{*certificate}
		return chosen, nil
	}
}

// current reads the certificate again when its file has changed; nil while there is none. One that cannot be read is
// logged, and its predecessor stays.
func (e *extensionCertificate) current() *tls.Certificate {
	e.mu.Lock()
	defer e.mu.Unlock()
	file := filepath.Join(e.dir, "tls.crt")
	info, err := os.Stat(file)
	if err != nil {
		e.loaded = nil
		return nil
	}
	if e.loaded != nil && info.ModTime().Equal(e.modified) {
		return e.loaded
	}
	loaded, err := loadPair(file, filepath.Join(e.dir, "tls.key"))
	if err != nil {
		klog.Background().Error(err, "Failed to read the certificate of the runtime extension")
		return e.loaded
	}
	e.loaded, e.modified = loaded, info.ModTime()
	return e.loaded
}

func loadPair(certFile, keyFile string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("loading %s and %s: %w", certFile, keyFile, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("parsing %s: %w", certFile, err)
		}
	}
	return &pair, nil
}
