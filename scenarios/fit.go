package scenarios

import (
	"fmt"
	"reflect"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// unfit returns the first value below n that doesn't fit a field of type t, in
// words with its place, and "" when all fit. The decoder itself cuts 10.5 down
// to 10, and doesn't say where a bad duration stands.
func unfit(n ast.Node, t reflect.Type) string {
	switch n := n.(type) {
	case *ast.AnchorNode:
		return unfit(n.Value, t)
	case *ast.AliasNode, *ast.TagNode, *ast.NullNode, nil:
		return ""
	case *ast.MappingNode:
		for _, v := range n.Values {
			if text := unfit(v, t); text != "" {
				return text
			}
		}
		return ""
	case *ast.MappingValueNode:
		return unfitField(n, t)
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice {
			return ""
		}
		for _, v := range n.Values {
			if text := unfit(v, t.Elem()); text != "" {
				return text
			}
		}
		return ""
	}
	if fits(n, t) {
		return ""
	}
	at := n.GetToken().Position
	return fmt.Sprintf("%d:%d: %q %s", at.Line, at.Column, n.GetToken().Value, misfit(t))
}

// unfitField looks at one field of a struct. One that t hasn't got is for the
// decoder to refuse.
func unfitField(n *ast.MappingValueNode, t reflect.Type) string {
	if t.Kind() != reflect.Struct {
		return ""
	}
	for i := range t.NumField() {
		if f := t.Field(i); yamlName(f) == n.Key.GetToken().Value {
			return unfit(n.Value, f.Type)
		}
	}
	return ""
}

// fits reports whether a single value is one of type t.
func fits(n ast.Node, t reflect.Type) bool {
	if t == reflect.TypeFor[time.Duration]() {
		_, err := time.ParseDuration(n.GetToken().Value)
		return n.Type() == ast.StringType && err == nil
	}
	switch t.Kind() {
	case reflect.Int:
		return n.Type() == ast.IntegerType
	case reflect.Float64:
		return n.Type() == ast.IntegerType || n.Type() == ast.FloatType
	case reflect.Bool:
		return n.Type() == ast.BoolType
	}
	return true
}

// misfit says what a value isn't that doesn't fit a field of that type.
func misfit(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "is no duration such as 500ms or 2s"
	}
	switch t.Kind() {
	case reflect.Int:
		return "is no whole number"
	case reflect.Float64:
		return "is no number"
	case reflect.Bool:
		return "is neither true nor false"
	}
	return "doesn't fit here"
}
