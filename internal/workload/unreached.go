// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Unreached says that a workload cluster cannot be reached, and why. The cause is nil, or ErrUnreachable, where there is
// no connection. The text is the same each time for the same cause: it is written into statuses, and each write wakes
// their controllers.
func Unreached(cluster string, cause error) string {
	return "cannot reach workload cluster " + cluster + ": " + reasonOf(cause)
}

// localPort is that of a connection, which is another one each time, as API servers write it of what they could not reach.
var localPort = regexp.MustCompile(`:\d+->`)

// WithoutPorts is a text about connections that is the same each time.
func WithoutPorts(text string) string { return localPort.ReplaceAllString(text, "->") }

func reasonOf(cause error) string {
	var status apierrors.APIStatus
	switch {
	case cause == nil, errors.Is(cause, ErrUnreachable):
		return "not connected, see condition " + clusterv1.ClusterRemoteConnectionProbeCondition + " of the Cluster"
	case apierrors.IsUnauthorized(cause):
		return "its API server does not accept the credentials in the kubeconfig"
	case apierrors.IsForbidden(cause):
		return "its API server forbids it: " + WithoutPorts(cause.Error())
	case errors.As(cause, &status):
		return fmt.Sprintf("its API server answers %d: %s", status.Status().Code, WithoutPorts(status.Status().Message))
	}
	return cmp.Or(certificateReason(cause), networkReason(cause), "the request failed, see the log of the manager")
}

// networkReason is why an API server does not answer; empty if that is not the cause.
func networkReason(cause error) string {
	var (
		network net.Error
		name    *net.DNSError
	)
	switch {
	case errors.As(cause, &name):
		return "the name of its API server cannot be resolved"
	case errors.Is(cause, context.DeadlineExceeded), errors.As(cause, &network) && network.Timeout():
		return "its API server does not answer in time"
	case errors.Is(cause, syscall.ECONNREFUSED):
		return "its API server refuses the connection"
	case errors.Is(cause, syscall.EHOSTUNREACH), errors.Is(cause, syscall.ENETUNREACH):
		return "there is no route to its API server"
	case errors.Is(cause, io.EOF), errors.Is(cause, io.ErrUnexpectedEOF), errors.Is(cause, syscall.ECONNRESET):
		return "the connection to its API server broke off"
	}
	return ""
}

// certificateReason is why the certificate of an API server is not trusted; empty if that is not the cause.
func certificateReason(cause error) string {
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(cause, &authority):
		return "the certificate of its API server is signed by an authority that is not in the kubeconfig"
	case errors.As(cause, &hostname):
		return "the certificate of its API server is for another name: " + hostname.Error()
	case errors.As(cause, &invalid) && invalid.Reason == x509.Expired: // its text has the time in it
		return "the certificate of its API server has expired, or is not valid yet"
	case errors.As(cause, &invalid):
		return "the certificate of its API server is not valid: " + invalid.Error()
	}
	return ""
}
