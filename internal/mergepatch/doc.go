// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mergepatch stores what a reconcile has changed of an object of which it is the only writer of what it changes, its
// conditions among that: all of the status in one request. Cluster API's patch helper writes conditions in a request of their own, because it is for objects whose
// conditions have several writers; where an object has one, that doubles the writes and what they wake.
package mergepatch
