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

// mutant is one change of a file.
type mutant struct {
	id          int    // from 1, within its package
	file        string // from the module's root
	function    string // or what is declared at the top of the file
	line        int
	source      string // the line as it is
	kind        string
	begin, end  int // what is replaced, in bytes
	replacement string
	compiles    bool
	switched    bool // there is a switch for it
}

// key identifies a mutant when lines are added or removed above it.
func (m mutant) key() string {
	return strings.Join([]string{m.file, m.function, m.kind, m.source}, "\t")
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.kind, m.source)
}

func (m mutant) apply(content []byte) []byte {
	return slices.Concat(content[:m.begin], []byte(m.replacement), content[m.end:])
}

var (
	negated  = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR}
	boundary = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	counted  = map[token.Token]token.Token{token.INC: token.DEC, token.DEC: token.INC}
)

// finder reads the mutants of a file, in the order of its lines, and what has to be written into the file to switch them.
type finder struct {
	path     string
	content  []byte
	lines    []string
	files    *token.FileSet
	info     *types.Info
	before   int // mutants of other files
	function string
	found    []mutant
	switches []edit
}

func (f *finder) declaration(node ast.Decl) {
	f.function = "var"
	if function, is := node.(*ast.FuncDecl); is {
		f.function = function.Name.Name
	}
	ast.Inspect(node, f.visit)
}

func (f *finder) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.IncDecStmt:
		f.count(n, f.add(counted[n.Tok].String(), n.TokPos, n.TokPos+2, counted[n.Tok].String()))
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.SwitchStmt:
		f.cases(n)
	}
	return true
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if n.Op == token.LAND || n.Op == token.LOR {
		left := f.add("without the left side", n.Pos(), n.End(), f.text(n.Y))
		f.combined(n, left, f.add("without the right side", n.Pos(), n.End(), f.text(n.X)))
	}
	changed := map[int]token.Token{}
	for _, others := range []map[token.Token]token.Token{negated, boundary} {
		if to, ok := others[n.Op]; ok {
			kind := fmt.Sprintf("%s instead of %s", to, n.Op)
			changed[f.add(kind, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String())] = to
		}
	}
	if len(changed) > 0 {
		f.compared(n, changed)
	}
}

// condition negates what is neither compared nor combined: that is done where it is.
func (f *finder) condition(n ast.Expr) {
	if _, isBinary := n.(*ast.BinaryExpr); !isBinary {
		f.negated(n, f.add("negated", n.Pos(), n.End(), "!("+f.text(n)+")"))
	}
}

// cases looks at those that are conditions.
func (f *finder) cases(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	for _, statement := range n.Body.List {
		for _, expression := range statement.(*ast.CaseClause).List {
			f.condition(expression)
		}
	}
}

func (f *finder) text(n ast.Node) string {
	return string(f.content[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) offset(pos token.Pos) int { return f.files.Position(pos).Offset }

// add returns the mutant's id.
func (f *finder) add(kind string, begin, end token.Pos, replacement string) int {
	line, id := f.files.Position(begin).Line, f.before+len(f.found)+1
	f.found = append(f.found, mutant{
		id: id, file: f.path, function: f.function, line: line, source: strings.TrimSpace(f.lines[line-1]), kind: kind,
		begin: f.offset(begin), end: f.offset(end), replacement: replacement,
	})
	return id
}
