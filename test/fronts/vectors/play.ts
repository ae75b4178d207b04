import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../../../core/context.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { referenceFile } from '../../fixtures/reference-files.js';
import { isKeyFree, remains } from '../../fixtures/remains.js';
import { createRequestFixture, type RequestFixture } from '../../harness/request-fixture.js';
import { KEYED } from './access.js';
import type { FrontName } from './fronts.js';
import { resolveId, resolveReferences } from './references.js';
import type { CallStep, CredentialKind, EventStep, Vector } from './vector.js';

/** A request as a front's client takes it, with every reference resolved. */
export interface FrontRequest {
  readonly operation: CallStep['operation'];
  readonly credential?: string;
  readonly appId?: string;
  readonly key?: string;
  readonly id?: string;
  readonly deliveryId?: string;
  readonly webhookUrl?: string;
  readonly lastEventId?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Json;
}

export interface FrontAnswer {
  readonly code: string;
  readonly message: string;
  readonly data?: JsonObject;
  readonly replayed: boolean;
}

export interface FrontClient {
  readonly front: FrontName;
  /** Rejects with `LeftOut` what the front has no words for. */
  send(request: FrontRequest): Promise<FrontAnswer>;
}

/** The target of vectors: a front, the service behind it, and the means to cause events between requests. */
export interface VectorTarget {
  readonly client: FrontClient;
  /** Over the stores that the front works on. */
  readonly context: Context;
  /** Sends bytes to an upload target and returns the status. */
  put(target: JsonObject, bytes: Uint8Array): Promise<number>;
  advance(byMs: number): Promise<void>;
}

interface Play extends VectorTarget {
  readonly fixture: RequestFixture;
  readonly targets: Map<string, JsonObject>;
}

const CLAIMED = { createGeneration: 'create', prepareUpload: 'prepare', completeUpload: 'complete' } as const;

/**
 * Plays one vector and checks every answer and the records left after a refusal. Others may have played on the target:
 * only the accounts of the fixture, by default new ones, are checked.
 */
export async function playOn(vector: Vector, target: VectorTarget, fixture?: RequestFixture): Promise<void> {
  const played: Play = {
    ...target,
    fixture: fixture ?? (await createRequestFixture(target.context)),
    targets: new Map(),
  };
  for (const [index, step] of vector.steps.entries()) {
    await ('event' in step ? happen(played, step) : request(played, step, `key-${index}`));
  }
}

async function request(target: Play, step: CallStep, freshKey: string): Promise<void> {
  const { context, fixture, client } = target;
  const key = KEYED.includes(step.operation) ? (step.key ?? (step.key === null ? undefined : freshKey)) : undefined;
  const as: CredentialKind = step.as ?? 'owner';
  const claim = {
    ...(fixture.owners.get(as) as { accountId: string; appId: string }),
    operation: CLAIMED[step.operation as keyof typeof CLAIMED],
    key: key ?? '',
  };
  const before = await remains(context, fixture.accountIds);
  const wasFree = key !== undefined && (await isKeyFree(context, claim));

  const secret = fixture.secrets.get(as);
  const answer = await client.send({
    operation: step.operation,
    ...(secret === undefined ? {} : { credential: secret }),
    ...(step.app === undefined ? {} : { appId: fixture.apps[step.app] }),
    ...(key === undefined ? {} : { key }),
    ...(step.id === undefined ? {} : { id: resolveId(step.id, fixture.ids) }),
    ...(step.deliveryId === undefined ? {} : { deliveryId: resolveId(step.deliveryId, fixture.ids) }),
    ...(step.webhookUrl === undefined ? {} : { webhookUrl: step.webhookUrl }),
    ...(step.lastEventId === undefined ? {} : { lastEventId: step.lastEventId }),
    ...(step.query === undefined
      ? {}
      : { query: (await resolveReferences(step.query, fixture.ids)) as Readonly<Record<string, string>> }),
    ...(step.body === undefined ? {} : { body: await resolveReferences(step.body, fixture.ids) }),
  });

  const { code, says } = step.otherwise?.over === client.front ? step.otherwise : step;
  expect(answer.code, `code (${answer.message})`).to.equal(code);
  if (says !== undefined) expect(answer.message).to.include(says);
  if (step.replayed !== undefined) expect(answer.replayed, 'replayed').to.equal(step.replayed);
  if (code !== 'OK') {
    expect(answer.data, 'data of a refusal').to.equal(undefined);
    expect(await remains(context, fixture.accountIds), 'what a refusal leaves behind').to.deep.equal(before);
    if (wasFree) expect(await isKeyFree(context, claim), 'the key of a refused request is free').to.equal(true);
    return;
  }
  await checkData(target, step, answer.data);
}

/** The field whose value an answer is saved as: the first of these that it has. */
const NAMED_BY = ['delivery_id', 'generation_id', 'upload_id', 'webhook_id', 'next_cursor'];

async function checkData({ fixture, targets }: Play, step: CallStep, data: JsonObject | undefined): Promise<void> {
  expect(data, 'data').to.be.an('object');
  for (const name of step.without ?? []) expect(data).to.not.have.property(name);
  if (step.save !== undefined) {
    const saved = NAMED_BY.map((name) => data?.[name]).find((value) => value !== undefined);
    fixture.ids.set(step.save, saved as string);
    targets.set(step.save, data as JsonObject);
  }
  if (step.data !== undefined) expectPart(data, await resolveReferences(step.data, fixture.ids), 'data');
}

/** Everything in `part` is in `whole`; lists from their beginning, and an empty one only in an empty one. */
function expectPart(whole: Json | undefined, part: Json, where: string): void {
  if (Array.isArray(part)) {
    expect(whole, where).to.be.an('array');
    if (part.length === 0) expect(whole, where).to.deep.equal([]);
    part.forEach((item, index) => expectPart((whole as Json[])[index], item, `${where}[${index}]`));
  } else if (part !== null && typeof part === 'object') {
    expect(whole, where).to.be.an('object');
    for (const [name, item] of Object.entries(part)) expectPart((whole as JsonObject)[name], item, `${where}.${name}`);
  } else {
    expect(whole, where).to.equal(part);
  }
}

async function happen(played: Play, step: EventStep): Promise<void> {
  const { fixture, targets } = played;
  switch (step.event) {
    case 'advance':
      return played.advance(step.byMs);
    case 'start-worker':
      return;
    case 'put': {
      const status = await played.put(targets.get(step.upload.slice(1)) as JsonObject, await referenceFile(step.file));
      if (step.accepted === 'either') expect(status, `the target and ${step.file}`).to.be.oneOf([200, 410]);
      else expect(status === 200, `the target took ${step.file} (status ${status})`).to.equal(step.accepted);
      return;
    }
    case 'await':
      return untilStatus(played, resolveId(step.generation, fixture.ids), step.status);
  }
}

/**
 * Asks until the generation has the status and, if that is its end, its hold has ended too, which follows a moment
 * later.
 */
async function untilStatus({ fixture, client, context }: Play, id: string, wanted: string): Promise<void> {
  const credential = fixture.secrets.get('owner') as string;
  let status: Json | undefined;
  while (status !== wanted) {
    await sleep(5);
    status = (await client.send({ operation: 'getGeneration', credential, id })).data?.['status'];
    if (status !== 'queued' && status !== 'running') expect(status).to.equal(wanted);
  }
  const isHeld = async () =>
    (await context.accounts.read((fixture.owners.get('owner') as { accountId: string }).accountId))?.holds.has(id);
  if (wanted === 'running') return;
  while (await isHeld()) await sleep(5);
}
