// An MCP server on the official SDK, at /mcp. Prints the port on which it listens. With "stateless" it knows no sessions,
// as the SDK requires for revision 2026-07-28.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type none struct{}

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sum struct {
	Sum int `json:"sum"`
}

type count struct {
	Count int `json:"count"`
}

type size struct {
	Size int `json:"size"`
}

type address struct {
	URL string `json:"url"`
}

func text(value string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: value}}}
}

func say(value string) mcp.ToolHandlerFor[none, any] {
	return func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return text(value), nil, nil
	}
}

func steps(ctx context.Context, request *mcp.CallToolRequest, given count) (*mcp.CallToolResult, any, error) {
	for step := 1; step <= given.Count; step++ {
		params := &mcp.ProgressNotificationParams{
			ProgressToken: request.Params.GetProgressToken(),
			Progress:      float64(step),
			Total:         float64(given.Count),
			Message:       fmt.Sprintf("step %d", step),
		}
		if err := request.Session.NotifyProgress(ctx, params); err != nil {
			return nil, nil, err
		}
	}
	return text("done"), nil, nil
}

func pay(_ context.Context, _ *mcp.CallToolRequest, given address) (*mcp.CallToolResult, any, error) {
	response, err := http.Get(given.URL)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return text(string(body)), nil, err
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "go server", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, _ *mcp.CallToolRequest, given numbers) (*mcp.CallToolResult, sum, error) {
			return nil, sum{given.A + given.B}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "steps", Description: "Reports each of its steps."}, steps)
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "Fails."},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("out of order")
		})
	mcp.AddTool(server, &mcp.Tool{Name: "large", Description: "Responds with a long text."},
		func(_ context.Context, _ *mcp.CallToolRequest, given size) (*mcp.CallToolResult, any, error) {
			return text(strings.Repeat("x", given.Size)), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "pay", Description: "Asks an address, and responds with what that responds."}, pay)
	scoped := &mcp.Tool{Name: "scoped", Description: "Needs a scope at the gateway."}
	mcp.AddTool(server, scoped, say("scoped"))
	mcp.AddTool(server, &mcp.Tool{Name: "forbidden", Description: "Is denied by the gateway's policy."}, say("forbidden"))
	mcp.AddTool(server, &mcp.Tool{Name: "announce", Description: "Says that the list of tools has changed."},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			// The SDK announces what is added, also in place of the same.
			mcp.AddTool(server, &mcp.Tool{Name: "scoped", Description: "Needs a scope at the gateway."}, say("scoped"))
			return text("announced"), nil, nil
		})
	stateless := len(os.Args) > 1 && os.Args[1] == "stateless"
	options := &mcp.StreamableHTTPOptions{Stateless: stateless}
	http.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
