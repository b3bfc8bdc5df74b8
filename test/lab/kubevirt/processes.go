// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

const (
	virtAPI        = "virt-api"
	virtController = "virt-controller"
)

// maxAnswer is the maximum size of a probe's response, in bytes.
const maxAnswer = 4 << 10

// endpoint is a port on loopback.
type endpoint int

func (e endpoint) url(path string) string { return "https://127.0.0.1:" + strconv.Itoa(int(e)) + path }

// startProcesses starts virt-api and virt-controller, and waits until the former serves and the latter leads.
func (k *KubeVirt) startProcesses(ctx context.Context) error {
	if err := k.makeCertificates(); err != nil {
		return err
	}
	if err := k.startAPI(); err != nil {
		return err
	}
	if err := k.startController(); err != nil {
		return err
	}
	return k.AwaitReady(ctx)
}

// AwaitReady waits until virt-api serves and virt-controller leads, for example after a restart.
func (k *KubeVirt) AwaitReady(ctx context.Context) error {
	config := k.probeTLS()
	if err := k.API.AwaitOK(ctx, k.api.url("/healthz"), config); err != nil {
		return err
	}
	// Its health endpoint succeeds before it leads.
	return k.Controller.Await(ctx, "the election", func(ctx context.Context) error { return k.leads(ctx, config) })
}

func (k *KubeVirt) startAPI() (err error) {
	kubeconfig, err := k.options.Cluster.WriteUserKubeconfig(serviceAccount("kubevirt-apiserver"), virtAPI)
	if err != nil {
		return err
	}
	k.API, err = k.run(virtAPI, "--kubeconfig="+kubeconfig, "--port="+strconv.Itoa(int(k.api)),
		"--tls-cert-file="+k.tls("tls.crt"), "--tls-key-file="+k.tls("tls.key"),
		"--handler-cert-file="+k.tls("tls.crt"), "--handler-key-file="+k.tls("tls.key"))
	return err
}

func (k *KubeVirt) startController() (err error) {
	kubeconfig, err := k.options.Cluster.WriteUserKubeconfig(serviceAccount("kubevirt-controller"), virtController)
	if err != nil {
		return err
	}
	k.Controller, err = k.run(virtController, "--kubeconfig="+kubeconfig, "--port="+strconv.Itoa(int(k.main)),
		"--launcher-image="+registry+"virt-launcher:"+Version, "--exporter-image="+registry+"virt-exportserver:"+Version,
		"--prom-cert-file="+k.tls("tls.crt"), "--prom-key-file="+k.tls("tls.key"))
	return err
}

func (k *KubeVirt) run(name string, args ...string) (*process.Process, error) {
	return process.Start(process.Spec{
		Name: name, Path: k.binary(name), Args: append(args, "--listen=127.0.0.1"), LogDir: k.options.Dir, Died: k.options.Died,
	})
}

func (k *KubeVirt) makeCertificates() error {
	pair, err := k.options.Cluster.Authority().Server(apiService, apiService+"."+Namespace+".svc")
	if err != nil {
		return err
	}
	return pki.WriteFiles(k.path("kubevirt-tls"), map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM})
}

func (k *KubeVirt) tls(name string) string { return k.path("kubevirt-tls/" + name) }

// probeTLS trusts KubeVirt's certificates. It has no client certificate, because virt-api accepts only that of
// the API server.
func (k *KubeVirt) probeTLS() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(k.options.Cluster.Authority().CertPEM)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// leads asks virt-controller whether it is the leader.
func (k *KubeVirt) leads(ctx context.Context, config *tls.Config) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.main.url("/leader"), nil)
	if err != nil {
		return err
	}
	probe := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	response, err := probe.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if !strings.Contains(string(answer), `"true"`) {
		return errors.New("it does not lead yet")
	}
	return nil
}

// awaitSubresources waits until the API server reaches virt-api as an aggregated API.
func (k *KubeVirt) awaitSubresources(ctx context.Context) error {
	config, err := k.options.Cluster.RESTConfig("lab")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return k.API.Await(ctx, "its subresources behind the API server", func(ctx context.Context) error {
		return client.RESTClient().Get().AbsPath("/apis/subresources.kubevirt.io/v1/healthz").Do(ctx).Error()
	})
}
