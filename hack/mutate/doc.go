// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mutate changes one condition of a package at a time and runs the package's tests. A change that no test notices is
// printed, and makes it fail, unless it is explained in explained.txt. The files stay as they are: the compiler is given others by
// "go test -overlay". It is called once for a package, with a switch for each change that the environment sets; only a change that
// cannot be switched, as that of a constant, is compiled by itself.
//
// gremlins does the same, but only where the compiler counts coverage, which leaves out the conditions of a switch's cases.
package main
