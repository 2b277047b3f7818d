package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Path is where the metrics are.
const Path = "/metrics"

// Address is where to listen when text says HOST:PORT, :PORT or PORT. Without a
// host that is the loopback address: who wants more says so, as with 0.0.0.0:PORT.
func Address(text string) (string, error) {
	host, port := "", text
	if _, err := strconv.ParseUint(text, 10, 16); err != nil {
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", fmt.Errorf("%q is no HOST:PORT", text)
		}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%q has no port between 0 and 65535", text)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Server serves the metrics of one registry over HTTP.
type Server struct {
	http     *http.Server
	listener net.Listener
	served   chan struct{}

	mu      sync.Mutex
	waiting []chan struct{}
}

// Serve listens at addr, see Address, and serves what g gathers until Close.
func Serve(addr string, g prometheus.Gatherer) (*Server, error) {
	addr, err := Address(addr)
	if err != nil {
		return nil, err
	}
	s := &Server{served: make(chan struct{})}
	if s.listener, err = net.Listen("tcp", addr); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, s.noticed(promhttp.HandlerFor(g, promhttp.HandlerOpts{EnableOpenMetrics: true})))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><title>oversell</title><a href="`+Path+`">metrics</a>`)
	})
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(s.listener) // ends with Close
	}()
	return s, nil
}

// URL is where the metrics are.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + Path }

// noticed tells those who wait for a scrape that began after they began to wait.
func (s *Server) noticed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		waited := slices.Clone(s.waiting)
		s.mu.Unlock()
		h.ServeHTTP(w, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range waited {
			if i := slices.Index(s.waiting, c); i >= 0 {
				s.waiting = slices.Delete(s.waiting, i, i+1)
				close(c)
			}
		}
	})
}

// AwaitScrape returns nil once a scrape was answered that began after this
// call, or else ctx's error when ctx ends.
func (s *Server) AwaitScrape(ctx context.Context) error { return s.ExpectScrape()(ctx) }

// ExpectScrape is for whoever announces that a scrape is waited for: await returns nil
// once one was answered that began after this call, or else its ctx's error when that
// ends. Call it once.
func (s *Server) ExpectScrape() (await func(ctx context.Context) error) {
	c := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, c)
	s.mu.Unlock()
	return func(ctx context.Context) error {
		select {
		case <-c:
			return nil
		case <-ctx.Done():
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting = slices.DeleteFunc(s.waiting, func(o chan struct{}) bool { return o == c })
		return ctx.Err()
	}
}

// Close ends serving once the scrapes under way are answered, or when ctx ends.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.served
	return err
}
