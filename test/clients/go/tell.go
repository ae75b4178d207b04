package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	// Whoever reads details must know their types.
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// told is one step: how it ended, with the messages that came, in the JSON that protobuf defines for them.
type told struct {
	Step       string                     `json:"step"`
	Code       int                        `json:"code"`
	Message    string                     `json:"message,omitempty"`
	Answers    []json.RawMessage          `json:"answers"`
	Details    map[string]json.RawMessage `json:"details,omitempty"`
	RequestIDs []string                   `json:"request_ids"`
}

// tell tells one step. about is the metadata that came with it: before an answer, after a refusal.
func tell(step string, about metadata.MD, err error, answers ...proto.Message) {
	line := told{Step: step, Answers: []json.RawMessage{}, RequestIDs: append([]string{}, about.Get("x-request-id")...)}
	for _, answer := range answers {
		line.Answers = append(line.Answers, inJSON(answer))
	}
	if err != nil {
		refused := status.Convert(err)
		line.Code, line.Message = int(refused.Code()), refused.Message()
		line.Details = map[string]json.RawMessage{}
		for _, detail := range refused.Details() {
			message, known := detail.(proto.Message)
			if !known {
				log.Fatalf("%s: a detail cannot be read: %v", step, detail)
			}
			line.Details[string(message.ProtoReflect().Descriptor().FullName())] = inJSON(message)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
}

func inJSON(message proto.Message) json.RawMessage {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		log.Fatal(err)
	}
	return text
}

// ask makes one call, tells it, and answers what came; nothing when it was refused.
func ask[Q, A proto.Message](ctx context.Context, step string, call func(context.Context, Q, ...grpc.CallOption) (A, error), request Q) A {
	var header, trailer metadata.MD
	answer, err := call(ctx, request, grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		tell(step, trailer, err)
	} else {
		tell(step, header, nil, answer)
	}
	return answer
}

// follow reads a stream to its end and tells it; onMessage is called for each message.
func follow[A any, P interface {
	*A
	proto.Message
}](step string, stream grpc.ServerStreamingClient[A], err error, onMessage func()) {
	var answers []proto.Message
	var about metadata.MD
	for err == nil {
		var answer *A
		if answer, err = stream.Recv(); err == nil {
			answers = append(answers, P(answer))
			onMessage()
		}
	}
	if stream != nil {
		about, _ = stream.Header()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	} else if stream != nil && len(answers) == 0 {
		about = stream.Trailer()
	}
	tell(step, about, err, answers...)
}
