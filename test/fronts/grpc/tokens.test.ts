// Goal: a program that a person has connected calls over gRPC as over REST: for the account and App of its token, with the
// token's scopes, rate and cap, until the token is over; and never as an operator.
// Method: a server over its own harness and the library's own client, with tokens of a person of the owner's account.
import { Metadata, status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { Access } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { Credits } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { ErrorInfoSchema } from '../../../apps/grpc/generated/google/rpc/error_details_pb.js';
import { type Scope, SCOPES } from '../../../core/access/credential.js';
import { suspendAccount } from '../../../core/access/manage.js';
import { type IssuedToken, issueToken, newPerson } from '../../fixtures/access-tokens.js';
import { until } from '../../fixtures/until.js';
import { unary } from './grpc-client.js';
import { detail, errorOf, GrpcHarness, PICTURE } from './grpc-harness.js';

describe('OAuth tokens over gRPC', () => {
  let grpc: GrpcHarness;
  beforeEach(async () => {
    grpc = await GrpcHarness.open({ tokenRates: { readsPerMinute: 3, writesPerMinute: 0 } });
  });
  afterEach(() => grpc.close());

  async function token(scopes: readonly Scope[] = SCOPES, capCredits?: number): Promise<IssuedToken> {
    const { context } = grpc.harness;
    const person = await newPerson(context, grpc.owner.accountId);
    const cap = capCredits === undefined ? {} : { capCredits };
    return issueToken(context, person, { clientId: 'a client', scopes, ...cap });
  }
  const as = (secret: string, more: Readonly<Record<string, string>> = {}): Metadata => {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${secret}`);
    for (const [name, value] of Object.entries(more)) metadata.set(name, value);
    return metadata;
  };
  const balance = (metadata: Metadata) => unary(grpc.client, Credits.method.getBalance, {}, metadata);
  const reasonOf = async (call: Promise<unknown>) => {
    const error = await errorOf(call);
    return [error.code, detail(error, ErrorInfoSchema)?.reason];
  };

  it('act for their account and App, which the metadata need not name', async () => {
    const { secret, grant } = await token();
    expect((await balance(as(secret))).availableCredits).to.equal(1_000n);
    const { generation } = await unary(
      grpc.client,
      Generations.method.createGeneration,
      { input: PICTURE, idempotencyKey: 'one' },
      as(secret, { 'darkroom-app-id': grant.appId }),
    );
    const stored = await grpc.harness.context.generations.read(generation?.generationId ?? '');
    expect(stored).to.deep.include({ accountId: grpc.owner.accountId, appId: grant.appId });
  });

  it('name no App but their own', async () => {
    const { secret } = await token();
    expect(await reasonOf(balance(as(secret, { 'darkroom-app-id': grpc.owner.appId })))).to.deep.equal([
      Status.PERMISSION_DENIED,
      'DEVELOPER_SCOPE_INSUFFICIENT',
    ]);
  });

  it('are refused without the scope, and as operators', async () => {
    const { secret } = await token(['uploads:write']);
    expect(await reasonOf(balance(as(secret)))).to.deep.equal([
      Status.PERMISSION_DENIED,
      'DEVELOPER_SCOPE_INSUFFICIENT',
    ]);
    const list = unary(grpc.client, Access.method.listAccounts, {}, as(secret));
    expect(await reasonOf(list)).to.deep.equal([Status.UNAUTHENTICATED, 'DEVELOPER_TOKEN_INVALID']);
  });

  it('are refused when they are over, and unknown ones', async () => {
    const [expired, revoked] = [await token(), await token()];
    await expired.expire();
    await revoked.revoke();
    expect(await reasonOf(balance(as(expired.secret)))).to.deep.equal([
      Status.UNAUTHENTICATED,
      'DEVELOPER_TOKEN_EXPIRED',
    ]);
    expect(await reasonOf(balance(as(revoked.secret)))).to.deep.equal([
      Status.UNAUTHENTICATED,
      'DEVELOPER_TOKEN_REVOKED',
    ]);
    expect(await reasonOf(balance(as(`svc_oauth_${'A'.repeat(43)}`)))).to.deep.equal([
      Status.UNAUTHENTICATED,
      'DEVELOPER_TOKEN_INVALID',
    ]);
  });

  it('are counted, each grant for itself', async () => {
    const [one, other] = [await token(), await token()];
    for (let times = 0; times < 3; times += 1) await balance(as(one.secret));
    expect(await reasonOf(balance(as(one.secret)))).to.deep.equal([Status.RESOURCE_EXHAUSTED, 'RATE_LIMITED']);
    await balance(as(other.secret));
  });

  it('spend no more than the grant may', async () => {
    const { secret } = await token(SCOPES, 1);
    const create = unary(
      grpc.client,
      Generations.method.createGeneration,
      { input: PICTURE, idempotencyKey: 'one' },
      as(secret),
    );
    expect(await reasonOf(create)).to.deep.equal([Status.FAILED_PRECONDITION, 'CREDITS_INSUFFICIENT']);
  });

  it('end a watch when they are revoked', async () => {
    const watching = await token();
    const { secret } = watching;
    const created = await unary(
      grpc.client,
      Generations.method.createGeneration,
      { input: PICTURE, idempotencyKey: 'one' },
      as(secret),
    );
    const generationId = created.generation?.generationId ?? '';
    const messages = grpc.watch(generationId, as(secret))[Symbol.asyncIterator]();
    await messages.next();
    await watching.revoke();
    grpc.harness.authenticator.close();
    await grpc.harness.startWorker();
    const error = await errorOf(messages.next());
    expect(error.code).to.equal(Status.UNAUTHENTICATED);
  });

  for (const [what, end] of [
    ['they are revoked', (watching: Awaited<ReturnType<typeof token>>) => watching.revoke()],
    ['they expire', (watching: Awaited<ReturnType<typeof token>>) => watching.expire()],
    ['their account is suspended', () => suspendAccount(grpc.harness.context, grpc.owner.accountId)],
  ] as const)
    it(`end a watch of all events, on which nothing happens, when ${what}`, async () => {
      const watching = await token();
      const messages = grpc.watchEvents(as(watching.secret))[Symbol.asyncIterator]();
      // Where it begins.
      await messages.next();
      const next = errorOf(messages.next());
      const { appWatch } = grpc.harness.context;
      expect(appWatch.followed).to.equal(1);
      await end(watching);
      grpc.harness.authenticator.close();
      expect((await next).code).to.equal(Status.UNAUTHENTICATED);
      await until(() => appWatch.followed === 0);
    });
});
