package diagnose

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// HTML writes the report as one page that needs nothing else and runs no script.
func (r Report) HTML(w io.Writer) error { return page.Execute(w, r) }
