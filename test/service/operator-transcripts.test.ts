// Goal: an operator's commands print the same output, refusals and exit codes on the stores and over gRPC.
// Method: one sequence of commands run twice, each time against a new service; the two transcripts are compared exactly
// after ids, times and secrets are replaced in order of appearance.
import { expect } from 'chai';
import { USAGE_BY } from '../../core/usage/read-usage.js';
import { until } from '../fixtures/clocks.js';
import type { Ran } from '../harness/cli-run.js';
import { CliService } from '../harness/cli-service.js';
import { freePort } from '../servers/free-port.js';
import { addPasskey } from '../fronts/console/passkey-by-link.js';

const UNKNOWN_ID = '0190a5c2-3b7e-7c11-8a50-5f2d9c6f1e02';

type Run = (...args: readonly string[]) => Promise<Ran>;
type Made = <T>(...args: readonly string[]) => Promise<T>;

/** The ids seen so far, and the placeholder of each in the transcript. */
class Names {
  private readonly known = new Map<string, string>();

  /** Decodes cursors, numbers ids, and replaces times and secrets by placeholders. */
  anonymous(text: string): string {
    return text
      .replaceAll(
        /(--cursor |"next_cursor": ")([\w-]+)/g,
        (_, before: string, cursor: string) =>
          `${before}${Buffer.from(cursor, 'base64url').toString('utf8').replace('\n', ' ')}`,
      )
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, (id) => this.nameOf(id.toLowerCase()))
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
      .replaceAll(/svc_live_[0-9A-Za-z]{49}/g, '<secret>')
      .replaceAll(/svc_live_[0-9A-Za-z]{3}…[0-9A-Za-z]{4}/g, '<hint>');
  }

  private nameOf(id: string): string {
    const name = this.known.get(id) ?? `<id ${this.known.size + 1}>`;
    this.known.set(id, name);
    return name;
  }
}

/** Runs commands and records their output. */
function recorder(
  run: Run,
  demoAccountId: string,
): { readonly transcript: string[]; readonly record: Run; readonly made: Made } {
  const names = new Names();
  const transcript: string[] = [];
  const record: Run = async (...args) => {
    const ran = await run(...args);
    transcript.push(names.anonymous(`$ darkroom ${args.join(' ')}\n${ran.stdout}${ran.stderr}exit ${ran.code}`));
    return ran;
  };
  names.anonymous(demoAccountId);
  return {
    transcript,
    record,
    made: async <T>(...args: readonly string[]): Promise<T> =>
      JSON.parse((await record(...args, '--json')).stdout) as T,
  };
}

async function runCreditCommands({ accountId: demoAccountId }: CliService, run: Run): Promise<string[]> {
  const { transcript, record, made } = recorder(run, demoAccountId);
  const { account_id: account } = await made<{ account_id: string }>(
    'accounts',
    'create',
    '  North  ',
    '--currency',
    'frames',
  );
  await record('accounts', 'create', 'Süd \u{1f3a8}', '--currency', '');
  const { app_id: app } = await made<{ app_id: string }>('apps', 'create', account, 'site');
  await record('apps', 'create', account.toUpperCase(), 'other');
  const { key_id: key } = await made<{ key_id: string }>(
    'keys',
    'create',
    app,
    '--name',
    'laptop',
    '--scope',
    'credits:read',
    '--expires',
    '2999-01-31T12:00:00.123Z',
  );
  await record('keys', 'create', app, '--name', 'desk');
  await record('keys', 'create', app, '--name', 'capped', '--monthly-cap', '500');
  await made('grants', 'create', account, '50', '--operation-id', 'invoice-1', '--reason', '');
  for (const [verb, credits, id] of [
    ['grants', '50', 'invoice-1'],
    ['grants', '51', 'invoice-1'],
    ['adjustments', '50', 'invoice-1'],
    ['adjustments', '-20', 'oops'],
    ['adjustments', '-31', 'more'],
  ] as const) {
    await record(verb, 'create', account, credits, '--operation-id', id, '--reason', 'r');
  }
  await record('accounts', 'show', account);
  await record('accounts', 'show', account, '--limit', '1', '--json');
  await record('accounts', 'list');
  await record('accounts', 'list', '--json');
  await record('ledger', account);
  const { next_cursor: cursor } = await made<{ next_cursor: string }>('ledger', account, '--limit', '1');
  await record('ledger', account, '--limit', '1', '--cursor', cursor);
  await record('ledger', demoAccountId, '--cursor', cursor);
  await record('apps', 'list', account, '--limit', '1');
  await record('keys', 'expire', key, '1969-12-31');
  await record('keys', 'list', account);
  await record('keys', 'revoke', key);
  await record('keys', 'revoke', key, '--json');
  await record('keys', 'expire', key, '90d', '--json');
  await record('keys', 'list', account, '--json');
  for (const refused of refusals(account, app)) await record(...refused);
  await record('providers', 'list');
  await record('providers', '--json');
  await record('verify');
  await record('verify', '--json');
  await record('recover');
  return transcript;
}

/** Uses only generations that have ended, because the output for a running one varies. */
async function runWorkCommands(service: CliService, run: Run): Promise<string[]> {
  const { accountId: account } = service;
  const { transcript, record, made } = recorder(run, account);
  for (const prompt of ['a lighthouse', 'a boat \u{1f6a3}\u001b[2J']) await generate(service, prompt);
  await record('generations', 'list');
  const {
    generations: [newest],
    next_cursor: cursor,
  } = await made<{ generations: { generation_id: string; app_id: string }[]; next_cursor: string }>(
    'generations',
    'list',
    '--limit',
    '1',
  );
  await record('generations', 'list', '--limit', '1', '--cursor', cursor, '--json');
  await record('generations', 'list', '--cursor', cursor, '--account', account);
  await record('generations', 'list', '--account', account, '--status', 'succeeded', '--status', 'queued');
  await record('generations', 'list', '--app', newest?.app_id ?? '', '--status', 'running', '--json');
  await record('generations', 'find', account);
  await record('generations', 'find', account, 'BOAT', '--status', 'succeeded', '--since', '2001-01-31');
  await record(
    'generations',
    'find',
    account,
    newest?.generation_id ?? '',
    '--app',
    newest?.app_id ?? '',
    '--limit',
    '1',
  );
  await record('generations', 'find', account, 'boat', '--until', '2001-01-31', '--model', 'none', '--json');
  await record('generations', 'show', newest?.generation_id ?? '');
  await record('generations', 'show', newest?.generation_id.toUpperCase() ?? '', '--json');
  await record('generations', 'cancel', newest?.generation_id ?? '');
  await record('generations', 'cancel', newest?.generation_id ?? '', '--json');
  await record('keys', 'list', account);
  for (const by of USAGE_BY) await record('usage', '--account', account, '--by', by);
  await record('usage', '--account', account.toUpperCase(), '--json');
  await record('usage', '--account', account, '--from', '2001-01-01', '--to', '2001-01-31', '--json');
  for (const prompt of ['one', 'two']) await generate(service, prompt, '--trace-id', prompt);
  const traces = ['usage', '--account', account, '--by', 'client_trace_id', '--limit', '1'] as const;
  const { next_cursor: next } = await made<{ next_cursor: string }>(...traces);
  await record(...traces, '--cursor', next);
  await record('usage', '--account', account, '--by', 'key', '--cursor', next);
  await record('usage', '--cost');
  await record('usage', '--cost', '--account', account, '--credit-value', '0.01:USD');
  await record('usage', '--cost', '--account', account, '--credit-value', '0.01:USD', '--json');
  for (const refused of USAGE_REFUSALS) await record('usage', ...refused);
  await record('usage', '--account', UNKNOWN_ID);
  await record('usage', '--cost', '--account', UNKNOWN_ID);
  await record('generations', 'list', '--account', UNKNOWN_ID);
  await record('generations', 'list', '--app', UNKNOWN_ID);
  await record('generations', 'list', '--status', 'lost');
  await record('generations', 'find', UNKNOWN_ID);
  await record('generations', 'find', account, '--app', UNKNOWN_ID);
  await record('generations', 'find', account, '--limit', '51');
  await record('generations', 'find', account, '');
  await record('generations', 'show', UNKNOWN_ID);
  await record('generations', 'cancel', 'it', '--json');
  await record('accounts', 'rename', account, '  South ');
  await record('accounts', 'suspend', account);
  await record('accounts', 'suspend', account, '--work', 'cancel', '--json');
  await record('accounts', 'list');
  await record('accounts', 'resume', account);
  await record('accounts', 'resume', account, '--json');
  return transcript;
}

/** Generates, and waits until usage shows what it cost: that is booked shortly after the generation has ended. */
async function generate(service: CliService, prompt: string, ...options: readonly string[]): Promise<void> {
  expect((await service.run(['generate', prompt, '-m', 'sandbox-test', ...options])).code).to.equal(0);
  await until(async () => {
    const { stdout } = await service.run(['usage', '--account', service.accountId, '--json']);
    const { total } = JSON.parse(stdout) as { readonly total: Readonly<Record<string, number>> };
    return total['reserved_credits'] === total['charged_credits']! + total['released_credits']!;
  });
}

/** Arguments that `usage` always refuses, whatever is stored. */
const USAGE_REFUSALS = [
  [],
  ['--account', 'x'],
  ['--account', UNKNOWN_ID, '--credit-value', '1:USD'],
  ['--account', UNKNOWN_ID, '--by', 'week'],
  ['--cost', '--by', 'day'],
  ['--cost', '--cursor', 'x'],
  ['--cost', '--credit-value', '0.0000001:USD'],
  ['--cost', '--credit-value', '1 USD'],
  ['--cost', '--from', '2026-02-30'],
  ['--cost', '--from', '2026-01-02', '--to', '2026-01-01'],
] as const;

/** Uses a person with a passkey, added on the account page. */
async function runPeopleCommands(service: CliService, run: Run): Promise<string[]> {
  const { accountId: account } = service;
  const { transcript, record } = recorder(run, account);
  const { person_id: person, sign_in_link: link } = await service.json<{ person_id: string; sign_in_link: string }>([
    'people',
    'create',
    account,
    'ada@example.com',
  ]);
  await record('people', 'promote', person);
  await record('people', 'list', account);
  await addPasskey(new URL(new URL(link).pathname, service.url));
  await record('people', 'promote', person.toUpperCase());
  await record('people', 'promote', person, '--json');
  await record('people', 'list', account);
  await record('people', 'list', account, '--json');
  await record('people', 'disable', person);
  await record('people', 'list', account);
  await record('people', 'reset', person, '--json');
  await record('people', 'enable', person, '--json');
  await record('people', 'demote', person);
  await record('people', 'demote', person, '--json');
  for (const verb of ['promote', 'demote']) {
    await record('people', verb, UNKNOWN_ID);
    await record('people', verb, 'nobody', '--json');
  }
  await record('people', 'erase', person);
  await record('people', 'erase', person, '--yes');
  await record('accounts', 'erasure', person, '--json');
  await record('accounts', 'erase-trace', account, 'order-17', '--yes');
  await record('accounts', 'erase', account);
  await record('accounts', 'erase', account, '--yes');
  await record('accounts', 'resume', account);
  expect(transcript.at(-7)).to.include('Nothing was done').and.include('exit 2');
  expect(transcript.at(-6)).to.match(/is (?:being )?erased/);
  expect(transcript.at(-1)).to.include('was erased');
  expect(transcript[0]).to.include('has no passkey').and.include('exit 1');
  expect(transcript[2]).to.include('is an operator, and signs in as one with 1 passkey.');
  expect(transcript[4]).to.include('active, operator');
  expect(transcript[8]).to.not.include('operator_since');
  return transcript;
}

/** Commands that are refused. */
function refusals(account: string, app: string): readonly (readonly string[])[] {
  return [
    ['accounts', 'create', ' '],
    ['accounts', 'create', 'x'.repeat(101), '--json'],
    ['accounts', 'show', 'nobody'],
    ['accounts', 'show', UNKNOWN_ID, '--json'],
    ['accounts', 'rename', account, ' '],
    ['accounts', 'rename', UNKNOWN_ID, 'x', '--json'],
    ['accounts', 'suspend', UNKNOWN_ID],
    ['accounts', 'suspend', account, '--work', 'drop'],
    ['accounts', 'resume', 'nobody'],
    ['accounts', 'erase', UNKNOWN_ID, '--yes'],
    ['accounts', 'erase', 'nobody', '--yes'],
    ['accounts', 'erase-trace', UNKNOWN_ID, 't', '--yes'],
    ['accounts', 'erase-trace', account, 't'.repeat(129), '--yes', '--json'],
    ['accounts', 'erasure', UNKNOWN_ID],
    ['people', 'erase', UNKNOWN_ID, '--yes'],
    ['accounts', 'list', '--cursor', 'there'],
    ['accounts', 'list', '--cursor', UNKNOWN_ID],
    ['apps', 'create', UNKNOWN_ID, 'site'],
    ['apps', 'list', UNKNOWN_ID],
    ['keys', 'create', UNKNOWN_ID, '--name', 'k'],
    ['keys', 'create', app, '--name', 'k', '--scope', 'everything'],
    ['keys', 'create', app, '--name', 'k', '--monthly-cap', '-1'],
    ['keys', 'create', app, '--name', 'k', '--monthly-cap', '1.5'],
    ['keys', 'create', app, '--name', 'k', '--expires', '2001-01-31'],
    ['keys', 'create', app, '--name', 'k', '--expires', '9999-12-31T23:59:59-01:00'],
    ['keys', 'revoke', UNKNOWN_ID],
    ['keys', 'expire', UNKNOWN_ID, 'now', '--json'],
    ['keys', 'list', UNKNOWN_ID],
    ['ledger', UNKNOWN_ID],
    ['grants', 'create', UNKNOWN_ID, '5', '--operation-id', 'g'],
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

describe("operators' commands on the stores and over gRPC", () => {
  for (const [what, commands] of [
    ['accounts and credits', runCreditCommands],
    ['work and suspensions', runWorkCommands],
    ['people', runPeopleCommands],
  ] as const) {
    it(`print the same for ${what}`, () => compareTranscripts(commands));
  }
});

async function compareTranscripts(commands: typeof runCreditCommands): Promise<void> {
  const transcriptOf = async (placeOf: (grpcAddress: string) => readonly string[]): Promise<string[]> => {
    const port = await freePort();
    const restPort = String(await freePort());
    const service = await CliService.start({
      DARKROOM_GRPC_PORT: String(port),
      DARKROOM_REST_PORT: restPort,
      DARKROOM_REST_PUBLIC_URL: `http://localhost:${restPort}`,
    });
    try {
      return await commands(service, (...args) => service.run([...args, ...placeOf(`127.0.0.1:${port}`)]));
    } finally {
      await service.stop();
    }
  };
  const [onStores, overGrpc] = await Promise.all([
    transcriptOf(() => []),
    transcriptOf((address) => ['--grpc', address]),
  ]);
  for (const [index, said] of onStores.entries()) expect(overGrpc[index]).to.equal(said);
  expect(overGrpc).to.have.length(onStores.length);
}
