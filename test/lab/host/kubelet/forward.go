// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	// Their successors would require another direct module dependency.
	"k8s.io/apimachinery/pkg/util/httpstream"      //nolint:staticcheck // see above
	"k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // see above
)

// portForwardProtocol is the only one that exists. Source: client-go, tools/portforward.
const portForwardProtocol = "portforward.k8s.io"

// forwarder forwards ports of Pods over SPDY, as a kubelet does for its API server.
type forwarder struct {
	// ctx ends with the kubelet, and closes all connections.
	ctx context.Context
	// targets by "pod:port".
	targets map[string]string
}

// ServeHTTP upgrades the connection and serves it until it is closed.
func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !httpstream.IsUpgradeRequest(r) {
		http.Error(w, "port forwarding needs an upgrade to SPDY", http.StatusBadRequest)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{portForwardProtocol}); err != nil {
		return // the upgrade has written the response
	}
	streams := make(chan httpstream.Stream)
	closed := make(chan struct{})
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		select {
		case streams <- stream:
		case <-closed:
		}
		return nil
	})
	if connection == nil {
		return
	}
	defer close(closed)
	defer func() { _ = connection.Close() }()
	failures := map[string]httpstream.Stream{}
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-connection.CloseChan():
			return
		case stream := <-streams:
			id := stream.Headers().Get(corev1.PortForwardRequestIDHeader)
			if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				failures[id] = stream
				continue
			}
			go f.forward(r.PathValue("pod"), stream, failures[id])
		}
	}
}

// forward copies in both directions until both have ended. Errors before that are written to the error stream, which
// the client opens first.
func (f *forwarder) forward(pod string, data, failure httpstream.Stream) {
	defer func() { _ = data.Close() }()
	if failure != nil {
		defer func() { _ = failure.Close() }()
	}
	port := data.Headers().Get(corev1.PortHeader)
	connection, err := (&net.Dialer{}).DialContext(f.ctx, "tcp", f.targets[pod+":"+port])
	if err != nil {
		if failure != nil {
			_, _ = fmt.Fprintf(failure, "forwarding port %s of pod %s: %v", port, pod, err)
		}
		return
	}
	defer func() { _ = connection.Close() }()
	defer context.AfterFunc(f.ctx, func() { _ = connection.Close() })()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(connection, data)
		_ = connection.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(data, connection)
	_ = data.Reset()
	<-sent
}
