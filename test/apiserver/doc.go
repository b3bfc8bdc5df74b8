// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver gives the tests of one package what only an API server decides: a real one, with
// the project's and Cluster API's kinds, and managers on it. Whole clusters are the business of
// test/lab.
package apiserver
