// The external authorizer of Envoy's row: `authorizer ADDRESS DENIED_PREFIX`. It decides by the email of the claims that Envoy
// verified and by the tool's name in the body, and writes a line of JSON for each decision to standard output.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"os"
	"strings"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	status "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

type server struct {
	auth.UnimplementedAuthorizationServer
	denied string
	lines  *json.Encoder
	turn   chan struct{}
}

type line struct {
	User    string `json:"user"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Tool    string `json:"tool,omitempty"`
	Allowed bool   `json:"allowed"`
}

func emailOf(metadata *core.Metadata) string {
	claims := metadata.GetFilterMetadata()["envoy.filters.http.jwt_authn"].GetFields()["claims"]
	return claims.GetStructValue().GetFields()["email"].GetStringValue()
}

func (s *server) Check(_ context.Context, request *auth.CheckRequest) (*auth.CheckResponse, error) {
	http := request.GetAttributes().GetRequest().GetHttp()
	found := line{User: emailOf(request.GetAttributes().GetMetadataContext()), Method: http.GetMethod(), Path: http.GetPath()}
	found.Allowed = found.User == "alice@example.com"
	if found.Allowed && strings.HasPrefix(found.Path, "/tool") {
		var message struct {
			Method string `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		body := http.GetRawBody()
		if len(body) == 0 {
			body = []byte(http.GetBody())
		}
		if json.Unmarshal(body, &message) != nil {
			found.Allowed = false
		} else if message.Method == "tools/call" {
			found.Tool = message.Params.Name
			found.Allowed = !strings.HasPrefix(found.Tool, s.denied)
		}
	}
	s.turn <- struct{}{}
	_ = s.lines.Encode(found)
	<-s.turn
	if !found.Allowed {
		return &auth.CheckResponse{Status: &status.Status{Code: int32(codes.PermissionDenied)}}, nil
	}
	return &auth.CheckResponse{Status: &status.Status{Code: int32(codes.OK)}}, nil
}

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	s := &server{denied: os.Args[2], lines: json.NewEncoder(os.Stdout), turn: make(chan struct{}, 1)}
	service := grpc.NewServer()
	auth.RegisterAuthorizationServer(service, s)
	log.Fatal(service.Serve(listener))
}
