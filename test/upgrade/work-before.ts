import type { JsonObject } from '../../core/json.js';
import { image } from '../fixtures/images.js';
import { sha256Of } from '../fixtures/sha256.js';
import type { Client, LiveService } from '../service/live-service.js';

/** A create as it was sent, and the id it was given. */
export interface Made {
  readonly key: string;
  readonly model: string;
  readonly parameters: JsonObject;
  readonly more: JsonObject;
  readonly id: string;
}

/** The answer to the same create when it is sent again. */
export interface Replay {
  readonly status: number;
  readonly isReplayed: string | null;
  readonly task: JsonObject;
}

/** A generation that had ended: its view, with the URLs and the hashes of its outputs. */
export interface Ended extends Made {
  readonly task: JsonObject;
  /** The answer to the same create, sent again. */
  readonly replay: Replay;
  readonly outputs: readonly { readonly url: string; readonly sha256: string }[];
}

/** An upload as the answer to its preparation had it. */
export interface Prepared {
  readonly id: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** The model for tests by another name, with so little time for a run that a hanging task soon ends. */
const HASTY_MODEL = 'hasty-test';
const HASTY_SECONDS = 20;

export function catalogBefore(shipped: string): string {
  const model = shipped.slice(shipped.indexOf('  - model_key: sandbox-test'));
  const hasty = model
    .replace('sandbox-test', HASTY_MODEL)
    .replace(/run_timeout_seconds: \d+/, `run_timeout_seconds: ${HASTY_SECONDS}`);
  return `${shipped.trimEnd()}\n\n${hasty}`;
}

/** The state of one client of a service when its processes were killed. */
export interface WorkBefore {
  readonly accountId: string;
  readonly secret: string;
  readonly ended: readonly Ended[];
  /** Open generations: some accepted by their provider, and some never started. */
  readonly open: readonly Made[];
  /** Running, and asked to end. */
  readonly cancelling: Made;
  /** Running, and never to end by itself. */
  readonly hanging: Made;
  readonly prepared: Prepared;
  /** Ready, and used by nothing yet. */
  readonly readyUploadId: string;
  readonly ledger: readonly JsonObject[];
  readonly models: JsonObject;
}

const SMALL = { size: '128x128' };
const ENDINGS: readonly JsonObject[] = [
  { behaviour: 'succeed', n: 2, seed: 7 },
  { behaviour: 'partial', n: 3, deliver: 1 },
  { behaviour: 'partial', n: 2, deliver: 0 },
  { behaviour: 'fail', error_code: 'CONTENT_REJECTED_OUTPUT' },
  { behaviour: 'fail', retryable_attempts: 1 },
  { behaviour: 'refuse', error_code: 'INPUT_INVALID' },
  { behaviour: 'unknown_acceptance' },
  { behaviour: 'bad_output' },
];
/** All slots of the model for one account. The generation that is being cancelled takes one. */
const PLACES = 6;
const SLOW_MS = 6_000;
export const GRANTED = 1_000;

/** Has a service, of whatever build, do a client's work until it has some in every state; then the caller kills it. */
export async function workBefore(service: LiveService): Promise<WorkBefore> {
  const program = service.server.program;
  const run = async (...args: readonly string[]) =>
    (await service.runBy(program, ...args)) as Readonly<Record<string, string>>;
  const { account_id: accountId = '' } = await run('accounts', 'create', 'upgraded');
  const { app_id: appId = '' } = await run('apps', 'create', accountId, 'an app');
  const { secret = '' } = await run('keys', 'create', appId, '--name', 'a key');
  await run('grants', 'create', accountId, String(GRANTED), '--operation-id', 'first');
  const client = service.client(secret);
  const readyUploadId = await upload(client, 'ready');
  const usedUploadId = await upload(client, 'used');

  const ended: Ended[] = [];
  for (const [index, behaviour] of ENDINGS.entries())
    ended.push(await ends(client, await make(client, `ended-${index}`, { ...SMALL, ...behaviour })));
  const referring = await make(client, 'referring', SMALL, { reference_upload_ids: [usedUploadId] });
  const traced = await make(client, 'traced', SMALL, { client_trace_id: 'a-trace' });
  const cancelled = await make(client, 'cancelled', { ...SMALL, behaviour: 'slow', delay_ms: 60_000 });
  await client.until(cancelled.id, ['running']);
  await client.cancel(cancelled.id);
  for (const made of [referring, traced, cancelled]) ended.push(await ends(client, made));

  const [prepared, models] = [await prepare(client, 'prepared'), (await client.request('GET', '/models')).data];
  const ledger = await ledgerOf(service, program, accountId);
  const hanging = await make(client, 'hanging', { ...SMALL, behaviour: 'hang' }, {}, HASTY_MODEL);
  const cancelling = await make(client, 'cancelling', {
    ...SMALL,
    behaviour: 'late_success_after_cancel',
    delay_ms: 60_000,
  });
  const slow: Made[] = [];
  for (let n = 1; n < 2 * PLACES; n += 1)
    slow.push(await make(client, `slow-${n}`, { ...SMALL, behaviour: 'slow', delay_ms: SLOW_MS }));
  const running = slow.slice(0, PLACES - 1);
  for (const { id } of [hanging, cancelling, ...running]) await client.until(id, ['running']);
  await client.cancel(cancelling.id);
  return {
    accountId,
    secret,
    ended,
    open: slow,
    cancelling,
    hanging,
    prepared,
    readyUploadId,
    ledger,
    models,
  };
}

export async function make(
  client: Client,
  key: string,
  parameters: JsonObject,
  more: JsonObject = {},
  model = 'sandbox-test',
): Promise<Made> {
  const { status, data, message } = await client.create(key, model, parameters, more);
  if (status !== 202) throw new Error(`The create ${key} was answered ${status}: ${message}`);
  return { key, model, parameters, more, id: data['generation_id'] as string };
}

/** The generation once it has ended, with its outputs fetched. */
export async function ends(client: Client, made: Made): Promise<Ended> {
  const task = await client.until(made.id);
  const outputs = await Promise.all(addressesOf(task).map(async (url) => ({ url, sha256: await digestAt(url) })));
  return { ...made, task: withoutAddresses(task), replay: await replay(client, made), outputs };
}

export async function replay(client: Client, { key, model, parameters, more }: Made): Promise<Replay> {
  const { status, headers, data } = await client.create(key, model, parameters, more);
  return { status, isReplayed: headers.get('idempotency-replayed'), task: withoutAddresses(data) };
}

export function addressesOf(task: JsonObject): string[] {
  return ((task['outputs'] ?? []) as JsonObject[]).map(({ url }) => url as string);
}

/** Addresses are signed anew for every look. */
export function withoutAddresses(task: JsonObject): JsonObject {
  const outputs = ((task['outputs'] ?? []) as JsonObject[]).map(({ url: _, ...output }) => output);
  return { ...task, outputs };
}

export async function digestAt(url: string): Promise<string> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`An output was answered ${response.status}: ${await response.text()}`);
  return sha256Of(new Uint8Array(await response.arrayBuffer()));
}

/** Every line of the account's ledger, as the program of some build prints them. */
export async function ledgerOf(service: LiveService, program: string, accountId: string): Promise<JsonObject[]> {
  const { entries } = await service.runBy(program, 'ledger', accountId, '--limit', '1000');
  return entries as JsonObject[];
}

async function upload(client: Client, name: string): Promise<string> {
  const { status, data, message } = await client.upload(name, 'image/png', await image('png'));
  if (status >= 300) throw new Error(`The upload ${name} was answered ${status}: ${message}`);
  return data['upload_id'] as string;
}

async function prepare(client: Client, name: string): Promise<Prepared> {
  const bytes = await image('png');
  const body = {
    filename: `${name}.png`,
    media_type: 'image/png',
    byte_size: bytes.byteLength,
    role: 'reference_image',
    sha256: sha256Of(bytes),
  };
  const { data } = await client.request('POST', '/uploads', { key: name, body });
  return {
    id: data['upload_id'] as string,
    url: data['upload_url'] as string,
    headers: data['required_headers'] as Record<string, string>,
    bytes,
  };
}
