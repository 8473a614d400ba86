// An MCP client on the official SDK, driven by lines of JSON on stdin; what happens is a line of JSON on stdout.
// Arguments: the server's address, "legacy" or "auto", and how it gets in: "none", or "oauth" with a redirect URI and, where
// it has one, the identifier of its registration. With "expect", an address and a file of certificates it sends one request over HTTP/2 that waits for "100 Continue".
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

type members map[string]any

var stdout sync.Mutex

func say(event string, more members) {
	line := members{"event": event}
	for name, value := range more {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	stdout.Lock()
	defer stdout.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

func sayError(id any, err error) {
	line := members{"id": id, "message": err.Error()}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		line["code"] = wire.Code
		line["data"] = wire.Data
	}
	say("error", line)
}

// Says when there are new tokens. The SDK keeps them itself.
type announced struct {
	source oauth2.TokenSource
	last   string
}

func (a *announced) Token() (*oauth2.Token, error) {
	token, err := a.source.Token()
	if err == nil && token.AccessToken != a.last {
		a.last = token.AccessToken
		say("tokens", members{"token": token.AccessToken})
	}
	return token, err
}

func signIn(redirect, registered string, callbacks <-chan string) (auth.OAuthHandler, error) {
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:         redirect,
		RequestRefreshToken: true,
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			say("authorize", members{"url": args.URL})
			callback, err := url.Parse(<-callbacks)
			if err != nil {
				return nil, err
			}
			query := callback.Query()
			return &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}, nil
		},
		NewTokenSource: func(ctx context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			say("registered", members{"client": config.ClientID})
			source := &announced{source: config.TokenSource(ctx, token)}
			_, err := source.Token()
			return source, err
		},
	}
	if registered != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: registered}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName:              "Go client",
				RedirectURIs:            []string{redirect},
				GrantTypes:              []string{"authorization_code", "refresh_token"},
				TokenEndpointAuthMethod: "none",
			},
		}
	}
	return auth.NewAuthorizationCodeHandler(config)
}

type command struct {
	ID        int
	Do        string
	Tool      string
	Arguments json.RawMessage
	URL       string
}

func carryOut(ctx context.Context, session *mcp.ClientSession, given command) {
	switch given.Do {
	case "list":
		list, err := session.ListTools(ctx, nil)
		if err != nil {
			sayError(given.ID, err)
			return
		}
		say("tools", members{"id": given.ID, "tools": list.Tools})
	case "listen":
		// It has listened since it connected.
		say("listening", members{"id": given.ID})
	case "call":
		params := &mcp.CallToolParams{Name: given.Tool, Arguments: given.Arguments}
		params.SetProgressToken(given.ID)
		result, err := session.CallTool(ctx, params)
		if err != nil {
			sayError(given.ID, err)
			return
		}
		say("result", members{"id": given.ID, "result": result})
	}
}

func run(address, mode, entry, redirect, registered string) error {
	ctx := context.Background()
	callbacks := make(chan string)
	commands := make(chan command)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			var given command
			if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
				panic(err)
			}
			if given.Do == "callback" {
				callbacks <- given.URL
			} else {
				commands <- given
			}
		}
		close(commands)
	}()
	transport := &mcp.StreamableClientTransport{Endpoint: address}
	if entry == "oauth" {
		handler, err := signIn(redirect, registered, callbacks)
		if err != nil {
			return err
		}
		transport.OAuthHandler = handler
	}
	options := &mcp.ClientSessionOptions{}
	if mode == "legacy" {
		options.ProtocolVersion = "2025-11-25"
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "go client", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { say("changed", nil) },
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			params := request.Params
			say("progress", members{"progress": params.Progress, "total": params.Total, "message": params.Message})
		},
	})
	session, err := client.Connect(ctx, transport, options)
	if err != nil {
		return err
	}
	greeting := session.InitializeResult()
	say("connected", members{"version": greeting.ProtocolVersion})
	for given := range commands {
		if given.Do == "close" {
			break
		}
		if given.Do == "connect" {
			if session, err = client.Connect(ctx, transport, options); err != nil {
				sayError(given.ID, err)
			} else {
				say("done", members{"id": given.ID})
			}
			continue
		}
		go carryOut(ctx, session, given)
	}
	// What it says of the session's end is no part of the cases.
	_ = session.Close()
	say("closed", nil)
	return nil
}

func expect(address, certificates string) error {
	pem, err := os.ReadFile(certificates)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	// So long that a response which never comes is no slow success.
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true, ExpectContinueTimeout: time.Hour}
	request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(`{"hello":"body"}`))
	if err != nil {
		return err
	}
	request.Header.Set("Expect", "100-continue")
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	say("response", members{"status": response.StatusCode, "version": response.Proto, "body": string(body)})
	return err
}

func main() {
	arguments := append(os.Args[1:], "", "")
	var err error
	if arguments[0] == "expect" {
		err = expect(arguments[1], arguments[2])
	} else {
		err = run(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4])
	}
	if err != nil {
		sayError(nil, err)
		os.Exit(1)
	}
}
