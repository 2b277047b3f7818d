package pgstore

import (
	"cmp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The tables of a schema.
const (
	stockTable  = "stock"
	ordersTable = "orders"
)

// statements are the SQL of one schema.
type statements struct {
	setStock, removeOrders string // Reset
	begin                  string
	lock, committed        string // Commit, in this order
	write, addOrder        string
	orders, units          string
}

func statementsOf(schema string) statements {
	in := names(schema)
	return statements{
		setStock: in(`INSERT INTO {stock} (sku, units) VALUES ($1, $2)
			ON CONFLICT (sku) DO UPDATE SET units = $2, token = 0, committed = 0`),
		removeOrders: in(`DELETE FROM {orders} WHERE sku = $1`),
		begin:        in(`UPDATE {stock} SET token = token + 1 WHERE sku = $1 RETURNING token, units`),
		lock:         in(`SELECT units FROM {stock} WHERE sku = $1 FOR UPDATE`),
		committed:    in(`SELECT before FROM {orders} WHERE sku = $1 AND id = $2`),
		// The fence: the row is only written while the token is the newest issued.
		write: in(`UPDATE {stock} SET units = $2, committed = committed + 1
			WHERE sku = $1 AND (NOT $3 OR token = $4 AND token > 0) RETURNING committed`),
		addOrder: in(`INSERT INTO {orders} (sku, n, id, token, instance, buyer, before) VALUES ($1, $2, $3, $4, $5, $6, $7)`),
		// One statement: an article without orders must not be taken for an unknown one.
		orders: in(`SELECT o.id, o.token, o.instance, o.buyer
			FROM {stock} s LEFT JOIN {orders} o USING (sku) WHERE sku = $1 ORDER BY o.n`),
		units: in(`SELECT units FROM {stock} WHERE sku = $1`),
	}
}

// tablesOf makes the tables. An order's n is its place in the order of commits.
func tablesOf(schema string) []string {
	in := names(schema)
	return []string{
		in(`CREATE TABLE {stock} (
			sku       text PRIMARY KEY,
			units     bigint NOT NULL,
			token     bigint NOT NULL DEFAULT 0,
			committed bigint NOT NULL DEFAULT 0)`),
		in(`CREATE TABLE {orders} (
			sku      text   NOT NULL,
			n        bigint NOT NULL,
			id       text   NOT NULL,
			token    bigint NOT NULL,
			instance bigint NOT NULL,
			buyer    bigint NOT NULL,
			before   bigint NOT NULL,
			PRIMARY KEY (sku, id), UNIQUE (sku, n))`),
	}
}

// names puts quoted names for {schema}, {stock} and {orders}.
func names(schema string) func(sql string) string {
	schema = cmp.Or(schema, DefaultSchema)
	r := strings.NewReplacer(
		"{schema}", quoted(schema),
		"{stock}", quoted(schema, stockTable),
		"{orders}", quoted(schema, ordersTable))
	return r.Replace
}

func quoted(name ...string) string { return pgx.Identifier(name).Sanitize() }
