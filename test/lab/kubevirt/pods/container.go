// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// probeTimeout of a readiness probe.
const probeTimeout = 2 * time.Second

// certificateFlags name the files of a mounted Secret, by the path of the mount. Elsewhere the processes read the
// default paths, which this machine does not have.
var certificateFlags = map[string][2]string{
	"/etc/virt-api/certificates":           {"--tls-cert-file", "--tls-key-file"},
	"/etc/virt-handler/clientcertificates": {"--handler-cert-file", "--handler-key-file"},
	"/etc/virt-controller/certificates":    {"--prom-cert-file", "--prom-key-file"},
}

// container of a Pod, which has one.
type container struct {
	component, image string
	// podIP in the cluster, and the address that the process listens on.
	podIP, listen string
	probe         *corev1.Probe
	process       *process.Process
	// isReplaced reports that the process was ended for that of a newer Pod.
	isReplaced bool
}

// newContainer starts the container of a Pod; nil while a Secret that it mounts is missing.
func (r *Runner) newContainer(ctx context.Context, pod *corev1.Pod) (*container, error) {
	spec := &pod.Spec.Containers[0]
	_, tag, _ := strings.Cut(filepath.Base(spec.Image), ":")
	binary, err := r.options.Binary(spec.Command[0], tag)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := r.options.Kubeconfig(pod.Spec.ServiceAccountName)
	if err != nil {
		return nil, err
	}
	certificates, err := r.certificates(ctx, pod)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	c := &container{component: pod.Labels[kubevirtv1.AppLabel], image: spec.Image, probe: spec.ReadinessProbe}
	if c.podIP, c.listen, err = kube.PodIP(); err != nil {
		return nil, err
	}
	args := slices.Concat(spec.Command[1:], spec.Args, certificates, []string{"--kubeconfig=" + kubeconfig, "--listen=" + c.listen})
	c.process, err = process.Start(process.Spec{
		Name: pod.Name, Path: binary, Args: args, Env: environment(spec), LogDir: r.options.Dir, Died: r.died(pod),
	})
	return c, err
}

// died is who to tell when the process of a Pod exits; nobody if it should.
func (r *Runner) died(pod *corev1.Pod) func(error) {
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		return nil
	}
	return r.options.Died
}

func environment(spec *corev1.Container) []string {
	env := []string{}
	for _, variable := range spec.Env {
		if variable.ValueFrom == nil {
			env = append(env, variable.Name+"="+variable.Value)
		}
	}
	return env
}

// certificates writes the Secrets that a container mounts and returns the flags that name the files.
func (r *Runner) certificates(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	args := []string{}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		flags, isUsed := certificateFlags[mount.MountPath]
		if !isUsed {
			continue
		}
		// KubeVirt names these volumes after their Secrets.
		secret := &corev1.Secret{}
		if err := r.options.Kube.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: mount.Name}, secret); err != nil {
			return nil, err
		}
		dir := filepath.Join(r.options.Dir, pod.Name, mount.Name)
		if err := pki.WriteFiles(dir, secret.Data); err != nil {
			return nil, err
		}
		args = append(args,
			flags[0]+"="+filepath.Join(dir, corev1.TLSCertKey), flags[1]+"="+filepath.Join(dir, corev1.TLSPrivateKeyKey))
	}
	return args, nil
}

func (c *container) hasExited() bool {
	select {
	case <-c.process.Exited():
		return true
	default:
		return false
	}
}

// isReady runs the readiness probe once, as a kubelet does: without verifying the certificate.
func (c *container) isReady(ctx context.Context) bool {
	if c.probe == nil || c.probe.HTTPGet == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	url := fmt.Sprintf("https://%s%s", net.JoinHostPort(c.listen, c.probe.HTTPGet.Port.String()), c.probe.HTTPGet.Path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	unverified := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // see above
	prober := http.Client{Transport: &http.Transport{TLSClientConfig: unverified, DisableKeepAlives: true}}
	response, err := prober.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusBadRequest
}
