package redisnode_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/oversell/oversell/cluster"
	"github.com/oversell/oversell/cluster/redisnode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is a server that answers from a script: the first word of a command,
// or its first two, decides. A command without an answer is unknown to it; the
// answer "hang" never comes.
type node struct {
	name    string
	role    cluster.Role
	answers map[string]string
	down    bool
	hanging chan struct{} // closed when an answer hangs; may be nil
	dialled func()        // called on every Dial; may be nil
}

func (n *node) Name() string                                { return n.name }
func (n *node) Role() cluster.Role                          { return n.role }
func (n *node) Announced() string                           { return n.name + ":1" }
func (n *node) Addr() string                                { return "" }
func (n *node) Version() string                             { return "scripted" }
func (n *node) Logs(context.Context, int) ([]string, error) { return nil, nil }

func (n *node) Dial(context.Context) (net.Conn, error) {
	if n.dialled != nil {
		n.dialled()
	}
	if n.down {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	go n.serve(theirs)
	return ours, nil
}

func (n *node) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		args, err := readCommand(in)
		if err != nil {
			return
		}
		answer, ok := n.answers[strings.Join(args[:min(2, len(args))], " ")]
		if !ok {
			answer, ok = n.answers[args[0]]
		}
		if !ok {
			answer = "-ERR unknown command '" + args[0] + "'"
		}
		if answer == "hang" {
			if n.hanging != nil {
				close(n.hanging)
			}
			_, _ = io.Copy(io.Discard, in)
			return
		}
		if _, err := io.WriteString(conn, answer+"\r\n"); err != nil {
			return
		}
	}
}

// readCommand reads an array of bulk strings that have no line breaks in them.
func readCommand(in *bufio.Reader) ([]string, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	count := 0
	for _, d := range strings.TrimSpace(head[1:]) {
		count = count*10 + int(d-'0')
	}
	args := make([]string, count)
	for i := range args {
		if _, err := in.ReadString('\n'); err != nil {
			return nil, err
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		args[i] = strings.TrimSpace(line)
	}
	args[0] = strings.ToUpper(args[0])
	return args, nil
}

// array is a RESP array of bulk strings, without its final line break.
func array(words ...string) string {
	var b strings.Builder
	b.WriteString("*" + itoa(len(words)))
	for _, w := range words {
		b.WriteString("\r\n$" + itoa(len(w)) + "\r\n" + w)
	}
	return b.String()
}

func bulk(text string) string { return "$" + itoa(len(text)) + "\r\n" + text }

func sentinel(name, says string) *node {
	return &node{name: name, role: cluster.RoleSentinel, answers: map[string]string{
		"SENTINEL GET-MASTER-ADDR-BY-NAME": array(says, "1"),
	}}
}

func server(name string, role cluster.Role, says string) *node {
	return &node{name: name, role: role, answers: map[string]string{"PING": "+PONG", "ROLE": array(says)}}
}

func sentinelCluster(nodes ...cluster.Node) *cluster.Cluster {
	return &cluster.Cluster{Shape: cluster.Sentinel, Nodes: nodes}
}

// untilAsked is a context that ends when n, which each try asks once, is asked
// for the third time: two whole tries have come to nothing by then.
func untilAsked(t *testing.T, n *node) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var asked atomic.Int32
	n.dialled = func() {
		if asked.Add(1) == 3 {
			cancel()
		}
	}
	return ctx
}

func TestWaitReady(t *testing.T) {
	t.Parallel()
	up := server("a", cluster.RoleMaster, "master")
	require.NoError(t, redisnode.WaitReady(t.Context(), up))

	loading := &node{name: "a", answers: map[string]string{"PING": "-LOADING Redis is loading the dataset in memory"}}
	err := redisnode.WaitReady(untilAsked(t, loading), loading)
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "LOADING", "the last reason is told")

	down := &node{name: "a", down: true}
	err = redisnode.WaitReady(untilAsked(t, down), down)
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "connection refused")
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	n := &node{name: "a", answers: map[string]string{"PING": "hang"}, hanging: make(chan struct{})}
	asked := make(chan error, 1)
	go func() { asked <- redisnode.Ping(ctx, n) }()
	<-n.hanging
	cancel()
	select {
	case err := <-asked:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(30 * time.Second):
		t.Fatal("the question didn't end")
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	tries := 0
	require.NoError(t, redisnode.Until(t.Context(), func(context.Context) error {
		if tries++; tries < 3 {
			return errors.New("not yet")
		}
		return nil
	}))
	assert.Equal(t, 3, tries)

	dead := errors.New("it is dead")
	err := redisnode.Until(t.Context(), func(context.Context) error { return redisnode.GiveUp(dead) })
	require.Equal(t, dead, err)

	cause := errors.New("no answer within 30s")
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the reason")
	tries = 0
	err = redisnode.Until(ctx, func(ctx context.Context) error {
		if tries++; tries < 3 {
			return reason
		}
		cancel(cause)
		return ctx.Err()
	})
	require.ErrorIs(t, err, cause)
	require.ErrorIs(t, err, reason)
}

func TestCurrentMasterIsWhatMostSentinelsName(t *testing.T) {
	t.Parallel()
	m, r := server("m", cluster.RoleMaster, "master"), server("r", cluster.RoleReplica, "slave")
	deaf := &node{name: "s3", role: cluster.RoleSentinel, down: true}

	got, err := redisnode.CurrentMaster(t.Context(), sentinelCluster(m, r, sentinel("s1", "m"), sentinel("s2", "r"), sentinel("s3", "r")))
	require.NoError(t, err)
	assert.Same(t, r, got)
	got, err = redisnode.CurrentMaster(t.Context(), sentinelCluster(m, r, deaf, deaf, sentinel("s1", "m")))
	require.NoError(t, err)
	assert.Same(t, m, got)
	_, err = redisnode.CurrentMaster(t.Context(), sentinelCluster(m, r, deaf))
	require.ErrorContains(t, err, "no sentinel answers")
	_, err = redisnode.CurrentMaster(t.Context(), sentinelCluster(m, r, sentinel("s1", "stranger")))
	require.ErrorContains(t, err, "no node of this cluster")

	got, err = redisnode.CurrentMaster(t.Context(), &cluster.Cluster{Shape: cluster.Single, Nodes: []cluster.Node{m}})
	require.NoError(t, err)
	assert.Same(t, m, got)
	_, err = redisnode.CurrentMaster(t.Context(), &cluster.Cluster{Shape: cluster.Quorum, Nodes: []cluster.Node{m, m}})
	require.Error(t, err)
}

func TestAPromotionNeedsAMajorityAndTheNodeItself(t *testing.T) {
	t.Parallel()
	m, r := &node{name: "m", role: cluster.RoleMaster, down: true}, server("r", cluster.RoleReplica, "master")
	got, err := redisnode.AwaitPromotion(t.Context(), sentinelCluster(m, r, sentinel("s1", "r"), sentinel("s2", "r"), sentinel("s3", "m")), m)
	require.NoError(t, err)
	assert.Same(t, r, got)

	s1 := sentinel("s1", "r")
	lone := sentinelCluster(m, r, s1, &node{name: "s2", role: cluster.RoleSentinel, down: true}, sentinel("s3", "m"))
	_, err = redisnode.AwaitPromotion(untilAsked(t, s1), lone, m)
	require.ErrorIs(t, err, context.Canceled, "one sentinel is no majority")

	notYet := server("r", cluster.RoleReplica, "slave")
	_, err = redisnode.AwaitPromotion(untilAsked(t, notYet), sentinelCluster(m, notYet, sentinel("s1", "r"), sentinel("s2", "r")), m)
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "r says that it is a slave")
}

func TestAwaitDemotion(t *testing.T) {
	t.Parallel()
	require.NoError(t, redisnode.AwaitDemotion(t.Context(), server("m", cluster.RoleMaster, "slave")))
	proud := server("m", cluster.RoleMaster, "master")
	err := redisnode.AwaitDemotion(untilAsked(t, proud), proud)
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "m says that it is a master")
}

func TestAskSentinel(t *testing.T) {
	t.Parallel()
	replica := func(name, flags, link string) string {
		return array("name", name, "flags", flags, "master-link-status", link)
	}
	s := &node{name: "s", role: cluster.RoleSentinel, answers: map[string]string{
		"SENTINEL MASTER":   array("ip", "m", "port", "1", "flags", "master,s_down", "num-other-sentinels", "2"),
		"SENTINEL REPLICAS": "*2\r\n" + replica("good", "slave", "ok") + "\r\n" + replica("bad", "s_down,slave", "err"),
		"SENTINEL CKQUORUM": "-NOQUORUM 1 usable Sentinels",
	}}
	w, err := redisnode.AskSentinel(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, redisnode.Watched{
		Master: "m:1", Flags: "master,s_down", Replicas: 2, Synced: 1, Sentinels: 2,
		Problems: []string{"the master is master,s_down", `replica bad is s_down,slave with link "err"`, "NOQUORUM 1 usable Sentinels"},
	}, w)

	err = redisnode.AwaitSentinels(untilAsked(t, s), sentinelCluster(s))
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "NOQUORUM")
}
