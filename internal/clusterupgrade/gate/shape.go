// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
)

// refusedShape says what in an expression would put values together; nil if nothing does. Each value of an evaluation is then a part of self, a literal, or
// of a fixed size, and no part of it occurs twice: comparing it takes no longer than its size.
func refusedShape(parsed *cel.Ast) error {
	of := parsed.NativeRep()
	var found error
	refuse := func(at ast.Expr, why string) {
		if location := of.SourceInfo().GetStartLocation(at.ID()); found == nil {
			found = fmt.Errorf("line %d, column %d: %s", location.Line(), location.Column()+1, why)
		}
	}
	ofFilters := map[int64]bool{}
	ast.PreOrderVisit(of.Expr(), ast.NewExprVisitor(func(expr ast.Expr) {
		switch expr.Kind() {
		case ast.CallKind:
			if list := addedByFilter(expr.AsCall()); list != nil {
				ofFilters[list.ID()] = true
			} else if addsList(expr.AsCall()) {
				refuse(expr, "lists cannot be added: write a condition for each of them")
			}
		case ast.ListKind:
			if !ofFilters[expr.ID()] && !hasOnlyLiterals(expr.AsList()) {
				refuse(expr, "a list can only have literals, as in ['a', 'b']: write a condition for each field, and join them by && or ||")
			}
		case ast.MapKind, ast.StructKind:
			refuse(expr, "maps and messages cannot be made: compare fields one by one, and sizes by size()")
		}
	}))
	return found
}

// addedByFilter is the list of the one element that macro filter adds to its result; nil if the call is another. Users cannot write its variable.
func addedByFilter(call ast.CallExpr) ast.Expr {
	if call.FunctionName() != operators.Add || len(call.Args()) != 2 {
		return nil
	}
	if to := call.Args()[0]; to.Kind() != ast.IdentKind || to.AsIdent() != parser.HiddenAccumulatorName {
		return nil
	}
	return call.Args()[1]
}

func addsList(call ast.CallExpr) bool {
	if call.FunctionName() != operators.Add {
		return false
	}
	for _, arg := range call.Args() {
		if arg.Kind() == ast.ListKind || arg.Kind() == ast.ComprehensionKind && arg.AsComprehension().AccuInit().Kind() == ast.ListKind {
			return true
		}
	}
	return false
}

func hasOnlyLiterals(list ast.ListExpr) bool {
	for _, element := range list.Elements() {
		if element.Kind() != ast.LiteralKind {
			return false
		}
	}
	return true
}
