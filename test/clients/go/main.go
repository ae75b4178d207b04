// Command client is a caller that has the proto files and Go's own libraries, and nothing of the service's code. It takes its
// settings as JSON from standard input, goes through a scenario, and tells what it saw as lines of JSON. What that should have been
// is for others to say: it judges nothing, and ends with an error only when it could not go on.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// Nothing in the scenario takes long; a server that hangs ends it.
const limit = 3 * time.Minute

type owner struct {
	AccountID string `json:"account_id"`
	AppID     string `json:"app_id"`
}

type settings struct {
	Address string `json:"address"`
	// Of a service that may do everything, and of one that may only read generations.
	Token       string `json:"token"`
	ReaderToken string `json:"reader_token"`
	// Whom to act for, and for whom to have as many open generations as an account may: three.
	Owner owner `json:"owner"`
	Busy  owner `json:"busy"`
	// A PNG to upload, in base64.
	Picture []byte `json:"picture"`
}

func main() {
	var given settings
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		log.Fatal(err)
	}
	connection, err := grpc.NewClient(given.Address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	newScenario(connection, given).play(ctx)
}

// as is a call by the service with this token, acting for somebody.
func as(ctx context.Context, token string, who owner) context.Context {
	return metadata.AppendToOutgoingContext(ctx,
		"authorization", "Bearer "+token, "darkroom-account-id", who.AccountID, "darkroom-app-id", who.AppID)
}
