// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command clusterdns stands in for CoreDNS: it resolves the name of a Service, NAME.NAMESPACE.svc.cluster.local, to its IPv4 address. It
// knows no other names, and no other records.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// account is where a Pod finds the credentials of its ServiceAccount.
const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	api := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	socket, err := net.ListenPacket("udp4", ":53")
	if err != nil {
		return err
	}
	return serve(socket, func(namespace, name string) (net.IP, error) { return lookUp(api, namespace, name) })
}

// serve answers requests until the socket is closed.
func serve(socket net.PacketConn, lookUp func(namespace, name string) (net.IP, error)) error {
	for {
		packet := make([]byte, 1500)
		length, from, err := socket.ReadFrom(packet)
		if err != nil {
			return err
		}
		go func() {
			if reply := answer(packet[:length], lookUp); reply != nil {
				_, _ = socket.WriteTo(reply, from)
			}
		}()
	}
}

// lookUp is the address of a Service; nil if there is none.
func lookUp(api *http.Client, namespace, name string) (net.IP, error) {
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("https://%s/api/v1/namespaces/%s/services/%s", address, namespace, name), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	said, err := api.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = said.Body.Close() }()
	if said.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	if said.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading Service %s/%s: %s", namespace, name, said.Status)
	}
	service := struct {
		Spec struct{ ClusterIP string }
	}{}
	err = json.NewDecoder(said.Body).Decode(&service)
	return net.ParseIP(service.Spec.ClusterIP).To4(), err
}
