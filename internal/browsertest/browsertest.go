// Package browsertest opens pages in a headless Chromium, for tests.
package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// RequireEnv names what tests need and must not be skipped for; here that is
// called "chromium".
const RequireEnv = "OVERSELL_REQUIRE"

const name = "chromium"

// Browser is a running Chromium. Its tabs can be used side by side.
type Browser struct{ ctx context.Context }

// Start starts a browser, which ends with t. Where there is none the test is
// skipped, unless it is required.
func Start(t *testing.T) *Browser {
	t.Helper()
	path := find()
	if path == "" {
		if slices.Contains(strings.Split(os.Getenv(RequireEnv), ","), name) {
			t.Fatalf("%s requires %s, and it isn't on the PATH", RequireEnv, name)
		}
		t.Skip("no chromium on the PATH; scripts/setup.sh --all installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancelAlloc := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(func() { cancel(); cancelAlloc() })
	require.NoError(t, chromedp.Do(ctx), "start %s", path)
	return &Browser{ctx}
}

func find() string {
	for _, program := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(program); err == nil {
			return path
		}
	}
	return ""
}

// Tab is one open page.
type Tab struct {
	Ctx context.Context

	mu       sync.Mutex
	problems []string
	requests []string
	own      string
}

// View is how a page is looked at.
type View struct {
	Width, Height int64
	Dark          bool // the system prefers a dark theme
	NoScripts     bool
}

// limit bounds everything that is done in one tab.
const limit = 90 * time.Second

// Open opens a file.
func (b *Browser) Open(t *testing.T, path string, v View) *Tab {
	t.Helper()
	abs, err := filepath.Abs(path)
	require.NoError(t, err)
	tab := &Tab{own: (&url.URL{Scheme: "file", Path: abs}).String()}
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	ctx, cancelLimit := context.WithTimeout(ctx, limit)
	t.Cleanup(cancelLimit)
	tab.Ctx = ctx
	require.NoError(t, chromedp.Listen(ctx, tab.hear))
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	call(t, ctx, network.Enable, network.EnableParams{})
	call(t, ctx, log.Enable, cdp.Empty{})
	call(t, ctx, runtime.Enable, cdp.Empty{})
	call(t, ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScripts})
	call(t, ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: v.Width, Height: v.Height, DeviceScaleFactor: 1, Mobile: v.Width < 600,
	})
	call(t, ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}, // a click goes to where its target is, not to where it will have scrolled
		},
	})
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(tab.own)), "open %s", path)
	return tab
}

func call[P, R any](t *testing.T, ctx context.Context, cmd cdp.Command[P, R], params P) {
	t.Helper()
	_, err := chromedp.Call(ctx, cmd, params)
	require.NoError(t, err, "%s", cmd.Method)
}

// hear notes what shouldn't happen on a page that needs nothing but itself.
func (tab *Tab) hear(ev any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch e := ev.(type) {
	case *log.EventEntryAdded:
		tab.problems = append(tab.problems, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *runtime.EventConsoleAPICalled:
		tab.problems = append(tab.problems, fmt.Sprintf("console.%s", e.Type))
	case *runtime.EventExceptionThrown:
		tab.problems = append(tab.problems, "exception: "+e.ExceptionDetails.Text)
	case *network.EventRequestWillBeSent:
		if u, _, _ := strings.Cut(e.Request.URL, "#"); u != tab.own {
			tab.requests = append(tab.requests, e.Request.URL)
		}
	}
}

// Problems are what the console has shown, and errors of scripts.
func (tab *Tab) Problems() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.problems)
}

// Requests are what the page has asked for besides itself.
func (tab *Tab) Requests() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.requests)
}

// Do runs actions in the tab.
func (tab *Tab) Do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab.Ctx, actions...))
}

// Eval is the value of an expression on the page.
func Eval[T any](t *testing.T, tab *Tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(tab.Ctx, chromedp.Evaluate[T](expression))
	require.NoError(t, err, "%s", expression)
	return v
}

// Await waits until an expression is true on the page.
func (tab *Tab) Await(t *testing.T, expression string) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab.Ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(20*time.Second))), "wait for %s", expression)
}

// Shoot keeps a picture of the whole page. Pictures are to be looked at by
// whoever changes a page.
func (tab *Tab) Shoot(t *testing.T, path string) {
	t.Helper()
	// What is off the screen is drawn, too.
	all := `(() => { const s = new CSSStyleSheet(); s.replaceSync('* {content-visibility: visible !important}'); document.adoptedStyleSheets = [s]; return true })()`
	Eval[bool](t, tab, all)
	data, err := chromedp.Run(tab.Ctx, chromedp.FullScreenshot(100))
	require.NoError(t, err, "take a picture of %s", tab.own)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
}
