package main

import (
	"bytes"
	"context"
	"log"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	darkroom "darkroom.test/client/contract/darkroom/v1"
)

const (
	nobody  = "00000000-0000-4000-8000-000000000000"
	maximum = int64(1<<53 - 1)
)

type scenario struct {
	settings
	connection  *grpc.ClientConn
	generations darkroom.GenerationsClient
}

func newScenario(connection *grpc.ClientConn, given settings) *scenario {
	return &scenario{given, connection, darkroom.NewGenerationsClient(connection)}
}

func (s *scenario) play(ctx context.Context) {
	s.discover(ctx)
	mine := as(ctx, s.Token, s.Owner)
	s.generate(mine)
	s.list(mine)
	s.upload(mine)
	s.refusals(ctx)
	s.waits(ctx)
	s.operate(ctx)
}

func (s *scenario) discover(ctx context.Context) {
	health := grpc_health_v1.NewHealthClient(s.connection)
	for _, service := range []string{"", darkroom.Generations_ServiceDesc.ServiceName, darkroom.Uploads_ServiceDesc.ServiceName,
		darkroom.Credits_ServiceDesc.ServiceName, darkroom.Catalog_ServiceDesc.ServiceName, darkroom.Access_ServiceDesc.ServiceName,
		darkroom.Operations_ServiceDesc.ServiceName, "nobody"} {
		ask(ctx, "health of "+service, health.Check, &grpc_health_v1.HealthCheckRequest{Service: service})
	}
	// Neither a token nor an account.
	ask(ctx, "models", darkroom.NewCatalogClient(s.connection).ListModels, &darkroom.ListModelsRequest{})
}

// picture is what the tests' own model makes, as its parameters say.
func picture(parameters map[string]any) *darkroom.GenerationInput {
	fields, err := structpb.NewStruct(parameters)
	if err != nil {
		log.Fatal(err)
	}
	model, prompt, trace := "sandbox-test", "a lighthouse", "scenario:1"
	return &darkroom.GenerationInput{
		ModelKey: &model, Prompt: &prompt, ClientTraceId: &trace,
		Operation: darkroom.Operation_OPERATION_IMAGE_GENERATION, Parameters: fields,
	}
}

func small() *darkroom.GenerationInput {
	return picture(map[string]any{"size": "128x128", "n": 2})
}

func creation(key string, input *darkroom.GenerationInput) *darkroom.CreateGenerationRequest {
	return &darkroom.CreateGenerationRequest{Input: input, IdempotencyKey: &key}
}

func (s *scenario) generate(mine context.Context) {
	ask(mine, "estimate", s.generations.EstimateGeneration, &darkroom.EstimateGenerationRequest{Input: small()})
	named := metadata.AppendToOutgoingContext(mine, "x-request-id", "scenario-create")
	id := ask(named, "create", s.generations.CreateGeneration, creation("one", small())).GetGeneration().GetGenerationId()
	ask(mine, "create again", s.generations.CreateGeneration, creation("one", small()))
	ask(mine, "create another with its key", s.generations.CreateGeneration, creation("one", picture(nil)))
	s.watch(mine, "watch", id)
	ask(mine, "get", s.generations.GetGeneration, &darkroom.GetGenerationRequest{GenerationId: id})
	ask(mine, "get masked", s.generations.GetGeneration, &darkroom.GetGenerationRequest{
		GenerationId: id, ReadMask: &fieldmaskpb.FieldMask{Paths: []string{"generation_id", "status"}}})
	failing := picture(map[string]any{"behaviour": "fail", "error_code": "CONTENT_REJECTED_OUTPUT"})
	failed := ask(mine, "create what fails", s.generations.CreateGeneration, creation("two", failing)).GetGeneration().GetGenerationId()
	s.watch(mine, "watch what fails", failed)
	// A field of a contract that is newer than the server's.
	newer := creation("three", small())
	newer.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 5_000, protowire.VarintType), 1))
	s.watch(mine, "watch what is newer", ask(mine, "create what is newer", s.generations.CreateGeneration, newer).GetGeneration().GetGenerationId())
}

func (s *scenario) watch(ctx context.Context, step string, id string) {
	stream, err := s.generations.WatchGeneration(ctx, &darkroom.WatchGenerationRequest{GenerationId: id})
	follow(step, stream, err, func() {})
}

func (s *scenario) list(mine context.Context) {
	token := ""
	for _, step := range []string{"first page", "second page"} {
		request := &darkroom.ListGenerationsRequest{PageSize: 2, PageToken: token, ReadMask: &fieldmaskpb.FieldMask{Paths: []string{"generation_id"}}}
		token = ask(mine, step, s.generations.ListGenerations, request).GetNextPageToken()
	}
}

func (s *scenario) upload(mine context.Context) {
	uploads := darkroom.NewUploadsClient(s.connection)
	name, kind, size, prepare, complete := "reference.png", "image/png", int64(len(s.Picture)), "prepare", "complete"
	prepared := ask(mine, "prepare", uploads.PrepareUpload, &darkroom.PrepareUploadRequest{
		Filename: &name, MediaType: &kind, ByteSize: &size, Role: darkroom.ReferenceRole_REFERENCE_ROLE_REFERENCE_IMAGE, IdempotencyKey: &prepare})
	put, err := http.NewRequestWithContext(mine, prepared.GetMethod(), prepared.GetUploadUrl(), bytes.NewReader(s.Picture))
	if err != nil {
		log.Fatal(err)
	}
	for header, value := range prepared.GetRequiredHeaders() {
		put.Header.Set(header, value)
	}
	answer, err := http.DefaultClient.Do(put)
	if err != nil {
		log.Fatal(err)
	}
	answer.Body.Close()
	ask(mine, "complete", uploads.CompleteUpload, &darkroom.CompleteUploadRequest{UploadId: prepared.GetUploadId(), IdempotencyKey: &complete})
}

func (s *scenario) refusals(ctx context.Context) {
	mine := as(ctx, s.Token, s.Owner)
	get := func(ctx context.Context, step string, id string) {
		ask(ctx, step, s.generations.GetGeneration, &darkroom.GetGenerationRequest{GenerationId: id})
	}
	get(ctx, "without a token", nobody)
	get(as(ctx, "wrong", s.Owner), "with a wrong token", nobody)
	get(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.Token), "for nobody", nobody)
	get(as(ctx, s.Token, owner{s.Owner.AccountID, s.Busy.AppID}), "for an App of somebody else", nobody)
	get(mine, "what there is not", nobody)
	get(metadata.AppendToOutgoingContext(mine, "x-request-id", "scenario-malformed"), "what is no id", "nothing")
	reader := as(ctx, s.ReaderToken, s.Owner)
	ask(reader, "beyond the scopes", s.generations.CreateGeneration, creation("four", small()))
	create := func(step string, change func(*darkroom.CreateGenerationRequest)) {
		request := creation("four", small())
		change(request)
		ask(mine, step, s.generations.CreateGeneration, request)
	}
	create("without a key", func(r *darkroom.CreateGenerationRequest) { r.IdempotencyKey = nil })
	create("without a prompt", func(r *darkroom.CreateGenerationRequest) { r.Input.Prompt = nil })
	create("of an operation not said", func(r *darkroom.CreateGenerationRequest) { r.Input.Operation = 0 })
	create("of an operation that is newer", func(r *darkroom.CreateGenerationRequest) { r.Input.Operation = 99 })
	create("with a reference that is no id", func(r *darkroom.CreateGenerationRequest) { r.Input.ReferenceUploadIds = []string{"nothing"} })
}

// waits has as many open generations as its account may have, none of which ends by itself.
func (s *scenario) waits(ctx context.Context) {
	busy := as(ctx, s.Token, s.Busy)
	hanging := picture(map[string]any{"behaviour": "hang"})
	id := ""
	for _, key := range []string{"one", "two", "three"} {
		id = ask(busy, "create what hangs", s.generations.CreateGeneration, creation(key, hanging)).GetGeneration().GetGenerationId()
	}
	ask(busy, "create one too many", s.generations.CreateGeneration, creation("four", small()))

	late, cancelLate := context.WithTimeout(busy, 300*time.Millisecond)
	defer cancelLate()
	s.watch(late, "watch until a deadline", id)

	gone, leave := context.WithCancel(busy)
	stream, err := s.generations.WatchGeneration(gone, &darkroom.WatchGenerationRequest{GenerationId: id})
	follow("watch and leave", stream, err, leave)

	stream, err = s.generations.WatchGeneration(busy, &darkroom.WatchGenerationRequest{GenerationId: id})
	asked := false
	follow("watch and cancel it", stream, err, func() {
		if !asked {
			ask(busy, "cancel", s.generations.CancelGeneration, &darkroom.CancelGenerationRequest{GenerationId: id})
		}
		asked = true
	})
}

// operate has an account of its own, with as many credits as there can be.
func (s *scenario) operate(ctx context.Context) {
	operator := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.Token)
	access, credits := darkroom.NewAccessClient(s.connection), darkroom.NewCreditsClient(s.connection)
	account := ask(operator, "account", access.CreateAccount, &darkroom.CreateAccountRequest{DisplayName: "Zoë’s 画室"}).GetAccount().GetAccountId()
	app := ask(operator, "App", access.CreateApp, &darkroom.CreateAppRequest{AccountId: account, DisplayName: "scenario"}).GetApp().GetAppId()
	ask(operator, "key", access.CreateApiKey, &darkroom.CreateApiKeyRequest{
		AppId: app, DisplayName: "scenario", Scopes: []string{"credits:read"}, ExpireTime: timestamppb.New(time.Date(2099, 12, 31, 23, 59, 59, 0, time.UTC))})
	grant := func(step string, amount int64) {
		ask(operator, step, credits.GrantCredits, &darkroom.GrantCreditsRequest{AccountId: account, OperationId: step, Credits: amount, Reason: "scenario"})
	}
	grant("grant all there can be", maximum)
	grant("grant more than that at once", maximum+1)
	grant("grant what has 64 bits", 1<<63-1)
	ask(operator, "correct", credits.AdjustCredits, &darkroom.AdjustCreditsRequest{AccountId: account, OperationId: "less", Credits: -1, Reason: "scenario"})
	ask(as(ctx, s.Token, owner{account, app}), "balance", credits.GetBalance, &darkroom.GetBalanceRequest{})
	ask(operator, "entries", credits.ListEntries, &darkroom.ListEntriesRequest{AccountId: account})
	ask(operator, "retention", darkroom.NewOperationsClient(s.connection).GetRetention, &darkroom.GetRetentionRequest{})
}
