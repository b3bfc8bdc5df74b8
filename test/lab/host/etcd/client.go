// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const requestTimeout = 5 * time.Second

// Client accesses the members of a cluster through etcd's JSON gateway, using the first in order that answers. Source:
// etcd 3.6, api/etcdserverpb/rpc.proto; 64-bit numbers are strings in its JSON.
type Client struct {
	endpoints []string
	http      *http.Client
}

// MemberInfo is a member as the cluster lists it.
type MemberInfo struct {
	ID         string   `json:"ID"`
	Name       string   `json:"name"`
	PeerURLs   []string `json:"peerURLs"`
	ClientURLs []string `json:"clientURLs"`
	IsLearner  bool     `json:"isLearner"`
}

// Open returns a client for the members on the hosts with these roots; it uses the certificate of the first.
func Open(roots ...string) (*Client, error) {
	if len(roots) == 0 {
		return nil, errors.New("reaching etcd: no host")
	}
	config, err := clientTLS(roots[0])
	if err != nil {
		return nil, err
	}
	endpoints := []string{}
	for _, root := range roots {
		m, err := Load(Options{Root: root})
		if err != nil {
			return nil, err
		}
		if m == nil {
			return nil, fmt.Errorf("reaching etcd: the host in %s has no member", root)
		}
		endpoints = append(endpoints, m.ClientURL())
	}
	return newClient(config, endpoints...), nil
}

func newClient(config *tls.Config, endpoints ...string) *Client {
	return &Client{endpoints: endpoints, http: &http.Client{
		Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true},
	}}
}

// clientTLS uses the certificate of a host's member, which is also valid for clients.
func clientTLS(root string) (*tls.Config, error) {
	dir := filepath.Join(root, pkiDir)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"))
	if err != nil {
		return nil, fmt.Errorf("reading etcd's certificate: %w", err)
	}
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("reading etcd's authority: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// Members lists the cluster's members with a linearizable read, which requires a quorum.
func (c *Client) Members(ctx context.Context) ([]MemberInfo, error) {
	answer := struct{ Members []MemberInfo }{}
	err := c.call(ctx, "/v3/cluster/member/list", map[string]any{"linearizable": true}, &answer)
	return answer.Members, err
}

// Put stores a value, which requires a quorum.
func (c *Client) Put(ctx context.Context, key, value string) error {
	return c.call(ctx, "/v3/kv/put", map[string]any{"key": encode(key), "value": encode(value)}, nil)
}

// Get returns a value with a linearizable read, which requires a quorum; empty if there is none.
func (c *Client) Get(ctx context.Context, key string) (string, error) {
	answer := struct {
		KVs []struct{ Value []byte }
	}{}
	if err := c.call(ctx, "/v3/kv/range", map[string]any{"key": encode(key)}, &answer); err != nil || len(answer.KVs) == 0 {
		return "", err
	}
	return string(answer.KVs[0].Value), nil
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// add adds a learner, unless it is a member already, and returns all members.
func (c *Client) add(ctx context.Context, peerURL string) ([]MemberInfo, error) {
	members, err := c.Members(ctx)
	if err != nil || slices.ContainsFunc(members, func(m MemberInfo) bool { return slices.Contains(m.PeerURLs, peerURL) }) {
		return members, err
	}
	answer := struct{ Members []MemberInfo }{}
	err = c.call(ctx, "/v3/cluster/member/add", map[string]any{"peerURLs": []string{peerURL}, "isLearner": true}, &answer)
	return answer.Members, err
}

func (c *Client) promote(ctx context.Context, name string) error {
	members, err := c.Members(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(members, func(m MemberInfo) bool { return m.Name == name })
	if i < 0 {
		return fmt.Errorf("etcd member %s has not started yet", name)
	}
	if !members[i].IsLearner {
		return nil
	}
	return c.call(ctx, "/v3/cluster/member/promote", map[string]any{"ID": members[i].ID}, nil)
}

// call tries the endpoints in order until one answers.
func (c *Client) call(ctx context.Context, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encoding a request to etcd: %w", err)
	}
	failures := []error{}
	for _, endpoint := range c.endpoints {
		if err = c.post(ctx, endpoint+path, body, answer); err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

func (c *Client) post(ctx context.Context, url string, body []byte, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("asking etcd: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("asking etcd at %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking etcd at %s: %s: %s", url, response.Status, content)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("reading the answer of etcd at %s: %w", url, err)
	}
	return nil
}
