// Goal: what a provider costs the operator, and which provider it is, is shown to operators and to no client.
// Method: a generation whose provider reports unmistakable numbers, read back over every front.
import { create, toJsonString } from '@bufbuild/protobuf';
import { expect } from 'chai';
import { Generations, WatchGenerationResponseSchema } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { Operations } from '../../../apps/grpc/generated/darkroom/v1/operations_pb.js';
import { SCOPES } from '../../../core/access/credential.js';
import { createKey } from '../../../core/access/manage.js';
import type { ProviderReport } from '../../../core/ports/provider.js';
import { CannedProvider } from '../../fixtures/canned-provider.js';
import { connectedProviders } from '../../fixtures/connected-providers.js';
import { image } from '../../fixtures/images.js';
import { BASE, type RunningServer, serve } from '../http/host/rest-client.js';
import { connectClient } from '../mcp/mcp-clients.js';
import { unary } from './grpc-client.js';
import { GrpcHarness } from './grpc-harness.js';

const COST = {
  inputTokens: 70_007_001,
  outputTokens: 70_007_002,
  computeMs: 70_007_003,
  money: { micros: 70_007_004, currency: 'XTS' },
} as const;
const SHOWN_TO_NO_CLIENT = /7000700\d|"(?:XTS|canned|costs?|provider)"/;

class CostlyProvider extends CannedProvider {
  override async poll(...asked: Parameters<CannedProvider['poll']>): Promise<ProviderReport> {
    const report = await super.poll(...asked);
    return report.state === 'succeeded' ? { ...report, cost: COST } : report;
  }
}

describe('what a provider costs', () => {
  let grpc: GrpcHarness;
  let rest: RunningServer;
  let generationId: string;
  let watched = '';
  before(async () => {
    const canned = new CostlyProvider(await image('png', 96, 64));
    grpc = await GrpcHarness.open({ ports: { providers: connectedProviders({ canned }) } });
    rest = await serve(grpc.harness);
    await grpc.harness.startWorker();
    generationId = await grpc.picture('costly');
    for await (const message of grpc.watch(generationId, grpc.as('all')))
      watched += toJsonString(WatchGenerationResponseSchema, message);
  });
  after(async () => {
    await rest.server.close(0);
    await grpc.close();
  });

  const operator = () => grpc.as('all');

  it('is shown to operators, with the provider', async () => {
    const { generation } = await unary(grpc.client, Operations.method.inspectGeneration, { generationId }, operator());
    expect([generation?.provider, generation?.costs.length]).to.deep.equal(['canned', 1]);
    expect(generation?.costs[0]).to.deep.include({
      attempt: 1,
      provider: 'canned',
      inputTokens: 70_007_001n,
      outputTokens: 70_007_002n,
      computeMs: 70_007_003n,
    });
    expect(generation?.costs[0]?.money).to.deep.include({ micros: 70_007_004n, currency: 'XTS' });
  });

  it('is added up by model for operators', async () => {
    const asked = { accountId: grpc.owner.accountId };
    const { models } = await unary(grpc.client, Operations.method.getModelCosts, asked, operator());
    expect(models).to.have.length(1);
    expect(models[0]).to.deep.include({
      modelKey: 'picture',
      generations: 1n,
      withoutMoney: 0n,
      inputTokens: 70_007_001n,
      outputTokens: 70_007_002n,
      computeMs: 70_007_003n,
    });
    expect(models[0]?.money).to.have.length(1);
    expect(models[0]?.money[0]).to.deep.include({ micros: 70_007_004n, currency: 'XTS' });
  });

  it('is not shown to clients over gRPC', async () => {
    const got = await unary(grpc.client, Generations.method.getGeneration, { generationId }, operator());
    const listed = await unary(grpc.client, Generations.method.listGenerations, {}, operator());
    const { getGeneration, listGenerations } = Generations.method;
    for (const text of [
      watched,
      toJsonString(getGeneration.output, create(getGeneration.output, got)),
      toJsonString(listGenerations.output, create(listGenerations.output, listed)),
    ])
      expect(text).to.include(generationId).and.to.not.match(SHOWN_TO_NO_CLIENT);
  });

  it('is not shown to clients over REST and MCP', async () => {
    const { secret } = await createKey(grpc.harness.context, { appId: grpc.owner.appId, name: 'k', scopes: SCOPES });
    const answer = await fetch(`${rest.origin}${BASE}/generations/${generationId}`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    const client = await connectClient(`${rest.origin}${BASE}/mcp`, '2026-07-28', secret);
    const told = await client.call('get_generation', { generation_id: generationId });
    await client.close();
    for (const text of [await answer.text(), JSON.stringify(told)])
      expect(text).to.include(generationId).and.to.not.match(SHOWN_TO_NO_CLIENT);
  });
});
