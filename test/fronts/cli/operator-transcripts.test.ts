// Goal: an operator's commands say the same, refusals and exit codes included, whether they work on the stores or over gRPC.
// Method: one story of commands told twice, each time by a service of its own; the two transcripts are compared word by word once ids,
// times and secrets are replaced by the order in which they came up.
import { expect } from 'chai';
import type { Ran } from '../../fixtures/cli-run.js';
import { CliService } from '../../fixtures/cli-service.js';
import { freePort } from '../../servers/free-port.js';

const NOBODY = '0190a5c2-3b7e-7c11-8a50-5f2d9c6f1e02';

type Run = (...args: readonly string[]) => Promise<Ran>;
type Made = <T>(...args: readonly string[]) => Promise<T>;

/** What came up while the story was told, and what stands for it in the transcript. */
class Names {
  private readonly known = new Map<string, string>();

  /** Cursors are what they stand for; ids count, and times and secrets are just that. */
  anonymous(text: string): string {
    return text
      .replaceAll(/(--cursor |"next_cursor": ")([\w-]+)/g, (_, before: string, cursor: string) => `${before}${Buffer.from(cursor, 'base64url').toString('utf8').replace('\n', ' ')}`)
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, (id) => this.nameOf(id.toLowerCase()))
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
      .replaceAll(/svc_live_[0-9A-Za-z]{49}/g, '<secret>');
  }

  private nameOf(id: string): string {
    const name = this.known.get(id) ?? `<id ${this.known.size + 1}>`;
    this.known.set(id, name);
    return name;
  }
}

/** Runs commands and keeps what they said. */
function teller(run: Run, demoAccountId: string): { readonly told: string[]; readonly tell: Run; readonly made: Made } {
  const names = new Names();
  const told: string[] = [];
  const tell: Run = async (...args) => {
    const ran = await run(...args);
    told.push(names.anonymous(`$ darkroom ${args.join(' ')}\n${ran.stdout}${ran.stderr}exit ${ran.code}`));
    return ran;
  };
  names.anonymous(demoAccountId);
  return { told, tell, made: async <T>(...args: readonly string[]): Promise<T> => JSON.parse((await tell(...args, '--json')).stdout) as T };
}

async function tellStory({ accountId: demoAccountId }: CliService, run: Run): Promise<string[]> {
  const { told, tell, made } = teller(run, demoAccountId);
  const { account_id: account } = await made<{ account_id: string }>('accounts', 'create', '  North  ', '--currency', 'frames');
  await tell('accounts', 'create', 'Süd \u{1f3a8}', '--currency', '');
  const { app_id: app } = await made<{ app_id: string }>('apps', 'create', account, 'site');
  await tell('apps', 'create', account.toUpperCase(), 'other');
  const { key_id: key } = await made<{ key_id: string }>('keys', 'create', app, '--name', 'laptop', '--scope', 'credits:read', '--expires', '2999-01-31T12:00:00.123Z');
  await tell('keys', 'create', app, '--name', 'desk');
  await made('grants', 'create', account, '50', '--operation-id', 'invoice-1', '--reason', '');
  for (const [verb, credits, id] of [['grants', '50', 'invoice-1'], ['grants', '51', 'invoice-1'], ['adjustments', '50', 'invoice-1'], ['adjustments', '-20', 'oops'], ['adjustments', '-31', 'more']] as const) {
    await tell(verb, 'create', account, credits, '--operation-id', id, '--reason', 'r');
  }
  await tell('accounts', 'show', account);
  await tell('accounts', 'show', account, '--limit', '1', '--json');
  await tell('accounts', 'list');
  await tell('accounts', 'list', '--json');
  await tell('ledger', account);
  const { next_cursor: cursor } = await made<{ next_cursor: string }>('ledger', account, '--limit', '1');
  await tell('ledger', account, '--limit', '1', '--cursor', cursor);
  await tell('ledger', demoAccountId, '--cursor', cursor);
  await tell('apps', 'list', account, '--limit', '1');
  await tell('keys', 'expire', key, '1969-12-31');
  await tell('keys', 'list', account);
  await tell('keys', 'revoke', key);
  await tell('keys', 'revoke', key, '--json');
  await tell('keys', 'expire', key, '90d', '--json');
  await tell('keys', 'list', account, '--json');
  for (const refused of refusals(account, app)) await tell(...refused);
  await tell('verify');
  await tell('verify', '--json');
  await tell('recover');
  return told;
}

/** Of work that has ended: how far a running one is would be told differently each time. */
async function tellOfWork(service: CliService, run: Run): Promise<string[]> {
  const { accountId: account } = service;
  const { told, tell, made } = teller(run, account);
  for (const prompt of ['a lighthouse', 'a boat \u{1f6a3}\u001b[2J']) expect((await service.run(['generate', prompt, '-m', 'sandbox-test'])).code).to.equal(0);
  await tell('generations', 'list');
  const { generations: [newest], next_cursor: cursor } = await made<{ generations: { generation_id: string; app_id: string }[]; next_cursor: string }>('generations', 'list', '--limit', '1');
  await tell('generations', 'list', '--limit', '1', '--cursor', cursor, '--json');
  await tell('generations', 'list', '--cursor', cursor, '--account', account);
  await tell('generations', 'list', '--account', account, '--status', 'succeeded', '--status', 'queued');
  await tell('generations', 'list', '--app', newest?.app_id ?? '', '--status', 'running', '--json');
  await tell('generations', 'show', newest?.generation_id ?? '');
  await tell('generations', 'show', newest?.generation_id.toUpperCase() ?? '', '--json');
  await tell('generations', 'cancel', newest?.generation_id ?? '');
  await tell('generations', 'cancel', newest?.generation_id ?? '', '--json');
  await tell('keys', 'list', account);
  await tell('generations', 'list', '--account', NOBODY);
  await tell('generations', 'list', '--app', NOBODY);
  await tell('generations', 'list', '--status', 'lost');
  await tell('generations', 'show', NOBODY);
  await tell('generations', 'cancel', 'it', '--json');
  await tell('accounts', 'rename', account, '  South ');
  await tell('accounts', 'suspend', account);
  await tell('accounts', 'suspend', account, '--work', 'cancel', '--json');
  await tell('accounts', 'list');
  await tell('accounts', 'resume', account);
  await tell('accounts', 'resume', account, '--json');
  return told;
}

/** What no operator gets. */
function refusals(account: string, app: string): readonly (readonly string[])[] {
  return [
    ['accounts', 'create', ' '],
    ['accounts', 'create', 'x'.repeat(101), '--json'],
    ['accounts', 'show', 'nobody'],
    ['accounts', 'show', NOBODY, '--json'],
    ['accounts', 'rename', account, ' '],
    ['accounts', 'rename', NOBODY, 'x', '--json'],
    ['accounts', 'suspend', NOBODY],
    ['accounts', 'suspend', account, '--work', 'drop'],
    ['accounts', 'resume', 'nobody'],
    ['accounts', 'list', '--cursor', 'there'],
    ['accounts', 'list', '--cursor', NOBODY],
    ['apps', 'create', NOBODY, 'site'],
    ['apps', 'list', NOBODY],
    ['keys', 'create', NOBODY, '--name', 'k'],
    ['keys', 'create', app, '--name', 'k', '--scope', 'everything'],
    ['keys', 'create', app, '--name', 'k', '--expires', '2001-01-31'],
    ['keys', 'create', app, '--name', 'k', '--expires', '9999-12-31T23:59:59-01:00'],
    ['keys', 'revoke', NOBODY],
    ['keys', 'expire', NOBODY, 'now', '--json'],
    ['keys', 'list', NOBODY],
    ['ledger', NOBODY],
    ['grants', 'create', NOBODY, '5', '--operation-id', 'g'],
    ['grants', 'create', 'nobody', '5', '--operation-id', 'g'],
    ['grants', 'create', account, '0', '--operation-id', 'g'],
    ['grants', 'create', account, '9007199254740992', '--operation-id', 'g', '--json'],
    ['grants', 'create', account, '9999999999999999', '--operation-id', 'g'],
    ['grants', 'create', account, '5', '--operation-id', ''],
    ['grants', 'create', account, '5', '--operation-id', 'o'.repeat(256)],
    ['grants', 'create', account, '6', '--operation-id', 'invoice-1', '--json'],
    ['grants', 'create', account, '6', '--operation-id', 'ünsäglich \u001b[2J'],
    ['grants', 'create', account, '7', '--operation-id', 'ünsäglich \u001b[2J'],
    ['adjustments', 'create', account, '5', '--reason', ' ', '--operation-id', 'g'],
    ['adjustments', 'create', account, '5', '--reason', 'r'.repeat(1_001), '--operation-id', 'g'],
  ];
}

describe('operators\' commands on the stores and over gRPC', () => {
  for (const [what, tell] of [['accounts and credits', tellStory], ['work and suspensions', tellOfWork]] as const) {
    it(`say the same of ${what}`, () => sayTheSame(tell));
  }
});

async function sayTheSame(story: typeof tellStory): Promise<void> {
  const transcriptOf = async (placeOf: (grpcAddress: string) => readonly string[]): Promise<string[]> => {
    const port = await freePort();
    const service = await CliService.start({ DARKROOM_GRPC_PORT: String(port) });
    try {
      return await story(service, (...args) => service.run([...args, ...placeOf(`127.0.0.1:${port}`)]));
    } finally {
      await service.stop();
    }
  };
  const [onStores, overGrpc] = await Promise.all([transcriptOf(() => []), transcriptOf((address) => ['--grpc', address])]);
  for (const [index, said] of onStores.entries()) expect(overGrpc[index]).to.equal(said);
  expect(overGrpc).to.have.length(onStores.length);
}
