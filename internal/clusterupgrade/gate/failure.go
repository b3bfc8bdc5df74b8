// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// errLongText is the value of a text that is too long to be evaluated.
var errLongText = fmt.Errorf("a text has more than %d bytes", maxString)

// kinds of failures, by how CEL's texts begin.
var kinds = []struct{ prefix, kind string }{
	{"no such key", "no such key"},
	{"no such attribute", "no such key"},
	{"no such overload", "no such overload"},
	{"unsupported index type", "no such overload"},
	{"unexpected type", "no such overload"},
	{"unsupported comprehension range type", "no such overload"},
	{"got '", "no such overload"},
	{"index out of bounds", "the index is out of bounds"},
	{"index '", "the index is out of bounds"},
	{"division by zero", "a division by zero"},
	{"modulus by zero", "a division by zero"},
	{"integer overflow", "a number is too large"},
	{"unsigned integer overflow", "a number is too large"},
	{"duration overflow", "a duration is too large"},
	{"timestamp overflow", "a time is too far"},
	{"optional.none() dereference", "an optional has no value"},
	{errLongText.Error(), errLongText.Error()},
}

// anotherFailure is the kind of those that are not known, as of conversions, whose texts quote the value.
const anotherFailure = "a value does not have the form that its function takes"

// failure says why an expression could not be evaluated. Those who read it need not have any rights in the workload cluster, and texts of CEL quote
// values: nothing is said but what is in the expression itself.
func (e *Expression) failure(err error) string {
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) {
		return "it costs more than the limit: select fewer objects, or compare less"
	}
	said, kind := err.Error(), anotherFailure
	for _, known := range kinds {
		if strings.HasPrefix(said, known.prefix) {
			kind = known.kind
			break
		}
	}
	var of *types.Err
	if !errors.As(err, &of) || of.NodeID() == 0 {
		return kind
	}
	return kind + e.position(of.NodeID())
}

// position of a node, after the fields that are selected there, as the expression has them.
func (e *Expression) position(id int64) string {
	fields := ""
	ast.PreOrderVisit(e.ast.Expr(), ast.NewExprVisitor(func(expr ast.Expr) {
		if expr.ID() == id && fields == "" {
			fields = selected(expr)
		}
	}))
	if fields != "" {
		fields = ": " + fields
	}
	location := e.ast.SourceInfo().GetStartLocation(id)
	return fmt.Sprintf("%s, at line %d, column %d", fields, location.Line(), location.Column()+1)
}

// selected is a path of fields; empty if the expression is another.
func selected(expr ast.Expr) string {
	switch expr.Kind() {
	case ast.IdentKind:
		return expr.AsIdent()
	case ast.SelectKind:
		if of := selected(expr.AsSelect().Operand()); of != "" {
			return of + "." + expr.AsSelect().FieldName()
		}
	}
	return ""
}
