// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"
)

// Patience is how long the lab, and every spec, waits for what has to happen, on any machine, however busy. It ends what will never come, and
// measures nothing.
const Patience = 15 * time.Minute

const (
	readyPoll    = 50 * time.Millisecond
	readyRequest = 5 * time.Second
)

// AwaitOK waits until the URL returns 200. It fails as soon as the process exits.
func (p *Process) AwaitOK(ctx context.Context, url string, config *tls.Config) error {
	client := &http.Client{Timeout: readyRequest, Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	return p.Await(ctx, url, func(ctx context.Context) error { return get(ctx, client, url) })
}

// Await waits until the condition holds. It fails as soon as the process exits.
func (p *Process) Await(ctx context.Context, what string, condition func(context.Context) error) error {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Exited():
			return p.Failure()
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s of %s (%w); the end of %s:\n%s", what, p.Name(), err, p.LogFile(), Tail(p.LogFile()))
		case <-ticker.C:
		}
	}
}

func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
