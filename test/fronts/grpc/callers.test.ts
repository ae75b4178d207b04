import { Metadata, status as Status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { CallersFile, CallersInvalid, digestOf, WatchedCallers } from '../../../apps/grpc/callers.js';
import { Access } from '../../../apps/grpc/generated/darkroom/v1/access_pb.js';
import { Credits, UsageBy } from '../../../apps/grpc/generated/darkroom/v1/credits_pb.js';
import { Generations } from '../../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { type Scope, SCOPES } from '../../../core/access/credential.js';
import { suspendAccount } from '../../../core/access/manage.js';
import { type IssuedToken, issueToken, newPerson } from '../../fixtures/access-tokens.js';
import { until } from '../../fixtures/clocks.js';
import { unary } from './grpc-client.js';
import { errorOf, GrpcHarness, PICTURE, refusalOf } from './grpc-harness.js';
import { keptLog } from '../../harness/kept-log.js';

// Goal: a program that a person has connected calls over gRPC as over REST: for the account and App of its token, with the
// token's scopes, rate and cap, until the token is over; and never as an operator.
// Method: a server over its own harness and the library's own client, with tokens of a person of the owner's account.

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
  const balance = (metadata: Metadata) => grpc.call(Credits.method.getBalance, {}, metadata);
  const reasonOf = async (call: Promise<unknown>) => {
    const error = await errorOf(call);
    return refusalOf(error);
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

  it('see of the ledger and the usage what their own App used', async () => {
    const method = Generations.method.createGeneration;
    const [{ secret, grant }, other] = [await token(), await token()];
    for (const made of [secret, other.secret])
      await unary(grpc.client, method, { input: PICTURE, idempotencyKey: 'one' }, as(made));
    const statement = await grpc.call(Credits.method.listOwnEntries, {}, as(secret));
    expect(statement.entries.map(({ credentialId, entry }) => [credentialId, entry?.availableAfter])).to.deep.equal([
      [grant.grantId, 0n],
    ]);
    expect([statement.openingCredits, statement.closingCredits]).to.deep.equal([0n, 0n]);
    const usage = await grpc.call(Credits.method.getUsage, { by: UsageBy.KEY }, as(secret));
    expect(usage.rows.map(({ group, sums }) => [group, sums?.generations])).to.deep.equal([[grant.grantId, 1n]]);
    expect(usage.total?.generations).to.equal(1n);
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
      // The first message is the position at which the watch starts.
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

// Goal: a callers file admits exactly the services that it names, and a mistake in it is reported with its line.
// Method: small files, looked up by token and certificate; every mistake alone.

const TOKEN = 'dks_0123456789abcdef';
const text = (...entries: readonly string[]): string =>
  `callers:\n${entries.map((entry) => `  - ${entry}\n`).join('')}`;
const entry = (more = '', name = 'studio', digest = digestOf(TOKEN)): string =>
  `{ name: ${name}, token_sha256: ${digest}, scopes: [generations:read]${more} }`;
const faultOf = (file: string): string => {
  try {
    new CallersFile(file, 'callers.yaml').find({ certificateNames: [] });
    return 'It was taken.';
  } catch (error) {
    expect(error).to.be.instanceOf(CallersInvalid);
    return (error as Error).message;
  }
};

describe('a file of callers', () => {
  it('identifies a service by its token, or by a name in its certificate, and no other caller', () => {
    const callers = new CallersFile(
      text(entry(), '{ name: batch, certificate: "spiffe://example/batch", scopes: [credits:write] }'),
      'callers.yaml',
    );
    expect(callers.find({ token: TOKEN, certificateNames: [] })).to.deep.equal({
      name: 'studio',
      scopes: ['generations:read'],
    });
    expect(callers.find({ certificateNames: ['other', 'spiffe://example/batch'] })?.name).to.equal('batch');
    for (const presented of [
      { certificateNames: [] },
      { certificateNames: ['batch'] },
      { token: `${TOKEN}x`, certificateNames: ['spiffe://example/batch'] },
      { token: digestOf(TOKEN), certificateNames: [] },
    ]) {
      expect(callers.find(presented), JSON.stringify(presented)).to.equal(undefined);
    }
  });

  it('matches DNS names in any letter case and URIs exactly, and refuses a certificate of two services', () => {
    const named = (name: string, certificate: string): string =>
      `{ name: ${name}, certificate: "${certificate}", scopes: [credits:write] }`;
    const callers = new CallersFile(
      text(named('batch', 'Batch.Internal'), named('billing', 'spiffe://example/Billing')),
      'callers.yaml',
    );
    const nameOf = (...certificateNames: readonly string[]) => callers.find({ certificateNames })?.name;
    expect([nameOf('batch.internal', 'batch.internal'), nameOf('spiffe://example/Billing')]).to.deep.equal([
      'batch',
      'billing',
    ]);
    expect([nameOf('spiffe://example/billing'), nameOf('batch.internal', 'spiffe://example/Billing')]).to.deep.equal([
      undefined,
      undefined,
    ]);
  });

  it('says when a service expires', () => {
    const callers = new CallersFile(text(entry(', expires_at: "2030-01-02T03:04:05Z", revoked: true')), 'callers.yaml');
    expect(callers.find({ token: TOKEN, certificateNames: [] })).to.deep.include({
      expiresAt: Date.UTC(2030, 0, 2, 3, 4, 5),
      isRevoked: true,
    });
  });

  it('says how often a service may call', () => {
    const rates = (file: string) =>
      new CallersFile(file, 'callers.yaml').find({ token: TOKEN, certificateNames: [] })?.ratesPerMinute;
    expect(rates(text(entry(', rates_per_minute: { reads: 600, writes: 1 }')))).to.deep.equal({
      reads: 600,
      writes: 1,
    });
    expect(rates(text(entry(', rates_per_minute: { writes: 1 }')))).to.deep.equal({ writes: 1 });
  });

  const WRONG: Readonly<Record<string, readonly [file: string, says: string]>> = {
    'is no YAML': ['callers: [', 'callers.yaml:1'],
    'names no callers': ['{}', 'callers'],
    'has a key nobody knows': [text(entry(', colour: blue')), 'colour'],
    'has a token itself instead of its digest': [
      text(`{ name: studio, token_sha256: ${TOKEN}, scopes: [credits:read] }`),
      'token_sha256',
    ],
    'has a scope nobody has': [text('{ name: studio, certificate: a, scopes: [everything] }'), 'scopes'],
    'has neither token nor certificate': [
      text('{ name: studio, scopes: [credits:read] }'),
      'callers.yaml:2: Caller studio must have either',
    ],
    'has both': [text(entry(', certificate: a')), 'either'],
    'names certificates by a wildcard': [
      text('{ name: studio, certificate: "*.internal", scopes: [credits:read] }'),
      'certificate',
    ],
    'names a certificate by its subject': [
      text('{ name: studio, certificate: "CN=studio", scopes: [credits:read] }'),
      'certificate',
    ],
    'names a DNS name twice': [
      text(
        '{ name: studio, certificate: a.b, scopes: [credits:read] }',
        '{ name: batch, certificate: A.B, scopes: [credits:read] }',
      ),
      'Caller batch has the token or certificate of studio.',
    ],
    'names a token twice': [
      text(entry(), entry('', 'batch')),
      'callers.yaml:3: Caller batch has the token or certificate of studio.',
    ],
    'lets a service call never': [text(entry(', rates_per_minute: { reads: 0 }')), 'rates_per_minute.reads'],
    'has a rate of something else': [text(entry(', rates_per_minute: { creates: 5 }')), 'creates'],
    'has a time of another form': [text(entry(', expires_at: tomorrow')), 'expires_at'],
    'has a time that there is not': [text(entry(', expires_at: "2030-13-01T00:00:00Z"')), 'no time such as'],
  };
  for (const [what, [file, says]] of Object.entries(WRONG)) {
    it(`is refused, with the line, if it ${what}`, () =>
      expect(faultOf(file))
        .to.include(says)
        .and.match(/^callers\.yaml:\d+: /));
  }
});

// Goal: a service that is removed from the callers file is refused without a restart, and a mistake in the file locks
// out no service that may call.
// Method: the file is rewritten, broken, removed and restored under a running watch, which is polled until its answer
// changes.

const INTERVAL_MS = 5;
const listing = (...tokens: readonly string[]): string =>
  JSON.stringify({
    callers: tokens.map((token) => ({ name: token, token_sha256: digestOf(token), scopes: ['credits:read'] })),
  });

describe('a file of callers that is watched', () => {
  let folder: string;
  let path: string;
  let callers: WatchedCallers | undefined;
  let warnings: string[];
  let logger: Logger;
  const known = (token: string): boolean => callers?.find({ token, certificateNames: [] }) !== undefined;
  const waitUntil = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await sleep(5);
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-callers-'));
    path = join(folder, 'callers.yaml');
    ({ texts: warnings, logger } = keptLog('warn'));
  });
  afterEach(() => {
    callers?.close();
    rmSync(folder, { recursive: true });
  });

  /**
   * Waits until a second watch with the same interval, started after the first, has seen two changes: by then the first
   * watch has polled.
   */
  async function untilLookedAtAgain(): Promise<void> {
    const other = join(folder, 'other.yaml');
    writeFileSync(other, listing('first'));
    const control = new WatchedCallers(other, pino({ level: 'silent' }), INTERVAL_MS);
    for (const token of ['second', 'third']) {
      writeFileSync(other, listing(token, token.repeat(2)));
      await waitUntil(() => control.find({ token, certificateNames: [] }) !== undefined);
    }
    control.close();
  }

  it('takes effect as it is now, whether it is overwritten or replaced', async () => {
    writeFileSync(path, listing('one', 'two'));
    callers = new WatchedCallers(path, logger, INTERVAL_MS);
    expect([known('one'), known('two')]).to.deep.equal([true, true]);
    writeFileSync(path, listing('two'));
    await waitUntil(() => !known('one'));
    writeFileSync(`${path}.new`, listing('three'));
    renameSync(`${path}.new`, path);
    await waitUntil(() => known('three'));
    expect([known('two'), warnings]).to.deep.equal([false, []]);
  });

  it('is read again immediately on request', () => {
    writeFileSync(path, listing('one'));
    callers = new WatchedCallers(path, logger, 3_600_000);
    writeFileSync(path, listing('two'));
    callers.readAgain();
    expect([known('one'), known('two')]).to.deep.equal([false, true]);
    writeFileSync(path, 'callers: [');
    callers.readAgain();
    expect([known('two'), warnings.length]).to.deep.equal([true, 1]);
  });

  it('keeps its previous content when it is invalid or missing, which is logged once each, until it can be used again', async () => {
    writeFileSync(path, listing('one'));
    callers = new WatchedCallers(path, logger, INTERVAL_MS);
    writeFileSync(path, 'callers: [');
    await waitUntil(() => warnings.length === 1);
    rmSync(path);
    await waitUntil(() => warnings.length === 2);
    await untilLookedAtAgain();
    expect([known('one'), warnings.length]).to.deep.equal([true, 2]);
    expect(warnings.every((line) => line.includes('callers not read'))).to.equal(true);
    writeFileSync(path, listing('two'));
    await waitUntil(() => known('two'));
    expect(known('one')).to.equal(false);
    expect(warnings.join(''), 'a slip has a sentence and no stack')
      .to.include('callers.yaml:1')
      .and.not.include('    at ');
  });

  it('must be usable at the start', () => {
    writeFileSync(path, 'callers: [');
    expect(() => new WatchedCallers(path, logger)).to.throw(CallersInvalid);
  });
});
