package rest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/lakescan/lakescan/iceberg/meta"
)

// Tables lists a namespace page by page, as far as the range goes. After an error nothing follows.
func (c *Client) Tables(ctx context.Context, namespace []string) iter.Seq2[meta.Ident, error] {
	type answer struct {
		Identifiers []struct {
			Namespace []string `json:"namespace"`
			Name      string   `json:"name"`
		} `json:"identifiers"`
		Next string `json:"next-page-token"`
	}
	op := "list tables"
	if !c.paths.expressible(namespace) || len(namespace) == 0 {
		return func(yield func(meta.Ident, error) bool) {
			yield(meta.Ident{}, &meta.Error{Op: op, Ident: meta.Ident{Namespace: namespace}, Err: meta.ErrNoSuchNamespace})
		}
	}
	rq := request{
		op: op, id: meta.Ident{Namespace: namespace}, missing: meta.ErrNoSuchNamespace,
		url: c.paths.endpoint("namespaces", c.paths.namespace(namespace), "tables"),
	}
	return pages(ctx, c, rq, nil, func(body []byte) ([]meta.Ident, string, error) {
		var a answer
		if err := json.Unmarshal(body, &a); err != nil {
			return nil, "", err
		}
		ids := make([]meta.Ident, len(a.Identifiers))
		for i, t := range a.Identifiers {
			ids[i] = meta.Ident{Namespace: t.Namespace, Name: t.Name}
		}
		return ids, a.Next, nil
	})
}

// Namespaces lists the children of parent (nil = the top level), page by page. After an error nothing follows.
func (c *Client) Namespaces(ctx context.Context, parent []string) iter.Seq2[[]string, error] {
	type answer struct {
		Namespaces [][]string `json:"namespaces"`
		Next       string     `json:"next-page-token"`
	}
	rq := request{
		op: "list namespaces", id: meta.Ident{Namespace: parent}, missing: meta.ErrNoSuchNamespace,
		url: c.paths.endpoint("namespaces"),
	}
	q := url.Values{}
	if len(parent) > 0 {
		q.Set("parent", c.paths.parent(parent))
	}
	return pages(ctx, c, rq, q, func(body []byte) ([][]string, string, error) {
		var a answer
		err := json.Unmarshal(body, &a)
		return a.Namespaces, a.Next, err
	})
}

// pages follows next-page-token until it is null or absent. The first call asks for paging by an empty token.
func pages[T any](ctx context.Context, c *Client, rq request, q url.Values, parse func([]byte) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		seen := map[string]bool{}
		token := ""
		for {
			query := url.Values{"pageToken": {token}, "pageSize": {strconv.Itoa(c.cfg.PageSize)}}
			for k, v := range q {
				query[k] = v
			}
			rq := rq
			rq.method, rq.url = http.MethodGet, rq.url+"?"+query.Encode()
			var items []T
			var next string
			rq.decode = func(body []byte, _ http.Header) (err error) {
				items, next, err = parse(body)
				if err == nil && next != "" && seen[next] {
					err = errors.New("the catalog repeats a page token: the listing would not end")
				}
				return err
			}
			if err := c.do(ctx, rq); err != nil {
				yield(zero, err)
				return
			}
			for _, it := range items {
				if !yield(it, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			seen[next] = true
			token = next
		}
	}
}
