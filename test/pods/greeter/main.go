// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command greeter is the only program in an image of the test. "greeter serve" answers at port 8080; "greeter call URL" succeeds when the
// URL answers.
package main

import (
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return (&http.Server{Addr: ":8080", ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintln(w, "hello")
		})}).ListenAndServe()
	case len(args) == 2 && args[0] == "call":
		answer, err := (&http.Client{Timeout: time.Minute}).Get(args[1])
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}
	return fmt.Errorf("usage: greeter serve | call URL")
}
