// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// edit writes text in place of some bytes of a file, or between two.
type edit struct {
	at, drop int
	text     string
}

// switchSource goes with the files that have switches. The environment says which mutant is the one that is tried; 0 is none.
const switchSource = `package %s

import (
	"os"
	"strconv"
)

var mutantTried = func() int { id, _ := strconv.Atoi(os.Getenv("MUTANT")); return id }()

func mutantCount[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64](n T, up bool) T {
	if up {
		return n + 1
	}
	return n - 1
}
`

// switchedSource is the file with a switch for each mutant that can have one.
func (f *finder) switchedSource() []byte {
	slices.SortStableFunc(f.switches, func(a, b edit) int { return a.at - b.at })
	source, from := []byte(nil), 0
	for _, each := range f.switches {
		source = append(append(source, f.content[from:each.at]...), each.text...)
		from = each.at + each.drop
	}
	return append(source, f.content[from:]...)
}

// combined evaluates neither side more often, nor earlier, than without a switch.
func (f *finder) combined(n *ast.BinaryExpr, left, right int) {
	skip := "(mutantTried == %d || ("
	if n.Op == token.LOR {
		skip = "(mutantTried != %d && ("
	}
	if f.decided(n, left, right) {
		f.wrap(n.X, fmt.Sprintf(skip, left), "))")
		f.wrap(n.Y, fmt.Sprintf(skip, right), "))")
	}
}

// compared evaluates both sides in one of the comparisons only. The result has no type of its own, as that of any comparison.
func (f *finder) compared(n *ast.BinaryExpr, changed map[int]token.Token) {
	source, unchanged := "", ""
	for id, to := range changed {
		if !f.decided(n, id) {
			return
		}
		source += fmt.Sprintf("mutantTried == %d && %s %s %s || ", id, f.text(n.X), to, f.text(n.Y))
		unchanged += fmt.Sprintf("mutantTried != %d && ", id)
	}
	f.wrap(n, "("+source+unchanged, ")")
}

func (f *finder) negated(n ast.Expr, id int) {
	if f.decided(n, id) {
		f.wrap(n, fmt.Sprintf("((mutantTried == %d) != (", id), "))")
	}
}

// count reads the variable once more, and so leaves out those that are found by a call.
func (f *finder) count(n *ast.IncDecStmt, id int) {
	basic, ok := f.info.TypeOf(n.X).Underlying().(*types.Basic)
	if !ok || basic.Info()&(types.IsInteger|types.IsFloat) == 0 || strings.ContainsAny(f.text(n.X), "(<") {
		return
	}
	f.switchable(id)
	is := map[token.Token]string{token.INC: "!=", token.DEC: "=="}[n.Tok]
	f.switches = append(f.switches, edit{f.offset(n.TokPos), 2, fmt.Sprintf(" = mutantCount(%s, mutantTried %s %d)", f.text(n.X), is, id)})
}

// decided reports whether a condition is evaluated when the program runs: a constant cannot be switched.
func (f *finder) decided(n ast.Expr, ids ...int) bool {
	if f.info.Types[n].Value != nil {
		return false
	}
	f.switchable(ids...)
	return true
}

func (f *finder) switchable(ids ...int) {
	for _, id := range ids {
		f.found[id-f.before-1].switched = true
	}
}

// wrap is called for the outer one of two expressions first: what it begins with comes before, and what it ends with after.
func (f *finder) wrap(n ast.Expr, begin, end string) {
	f.switches = append(f.switches, edit{at: f.offset(n.Pos()), text: begin})
	f.switches = slices.Insert(f.switches, 0, edit{at: f.offset(n.End()), text: end})
}
