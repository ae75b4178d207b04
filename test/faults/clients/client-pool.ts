import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scope } from '../../../core/access/credential.js';
import { createApp, createKey, revokeKey } from '../../../core/access/manage.js';
import type { Context } from '../../../core/context.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { newOwner, type Owner } from '../../fixtures/memory-stores.js';
import { textOf } from '../../history/values.js';
import type { Burst, Facts, Party } from '../../history/recorded/history.js';
import { taskHasEnded } from '../../history/recorded/known.js';
import type { RestName } from '../rounds/schedule.js';
import { STOPPABLE_VENDOR_MODEL_KEYS, type VendorModel } from '../vendors/vendor-models.js';
import { ApiClient, insist, type Insistence, type Recorder } from './api-client.js';
import { slowWish, vendorWish } from './wishes.js';

type Secret = Facts['secrets'][number];
type Revocation = Facts['revocations'][number];

/** The length of a key's prefix. The unguessable rest identifies a leaked secret in text. */
const PREFIX_LENGTH = 'svc_live_'.length;
const BODY_LENGTH = 43;
const BETWEEN_TRIES_MS = 100;
const MORE_THAN_THE_ROUTE = 12;
/** Enough tries to outlast the start of a REST process. */
const MOST_TRIES = 20;
const CANCELLED_OF_EACH = 2;
/** Unfinished generations per model that still reach a vendor; more would only form a backlog. */
const OPEN_OF_A_MODEL = 6;
const LOOKS_BEFORE_CANCEL = 40;

/** A key that an operator is going to revoke. */
export interface Leaving {
  readonly api: ApiClient;
  readonly keyId: string;
}

/** The properties of a new key. */
export interface KeyTerms {
  readonly monthlyCap?: number;
  readonly scopes?: readonly Scope[];
  readonly webhookUrl?: string;
}

export interface AskedOfVendors {
  readonly uploadId: string;
  readonly times: number;
  readonly pause: (ms: number) => Promise<void>;
}

export interface BurstTerms {
  readonly balance: number;
  readonly creates: number;
  readonly cost: number;
  /** Whether it is made while nothing goes wrong. */
  readonly mayBeExact: boolean;
}

/** The accounts and clients of one run, created by the operator, and what the test knows about them. */
export class ClientPool {
  readonly parties: Party[] = [];
  readonly granted: Record<string, number> = {};
  readonly secrets: Secret[] = [];
  readonly revocations: Revocation[] = [];
  readonly bursts: Burst[] = [];
  private readonly clients = new Map<string, ApiClient>();
  /** Generations of vendor models that had not ended when they were last polled. */
  private readonly openAtVendors = new Map<VendorModel, Set<string>>();

  constructor(
    private readonly context: Context,
    private readonly urls: Readonly<Record<RestName, string>>,
    private readonly recorder: Recorder,
  ) {}

  /** The clock of all records of the run. */
  now(): number {
    return this.recorder.now();
  }

  /** A party with its own account, and perhaps a cap on what its key may spend. */
  async openAccount(name: string, credits: number, monthlyCap?: number): Promise<ApiClient> {
    const owner = await this.openOwner(name, credits);
    return (await this.giveKey(name, owner, monthlyCap === undefined ? {} : { monthlyCap })).api;
  }

  async openOwner(name: string, credits: number): Promise<Owner> {
    const owner = await newOwner(this.context, name, credits);
    this.granted[owner.accountId] = credits;
    return owner;
  }

  /** Another App in an existing account: it shares the credits and nothing else. */
  async addApp(name: string, { accountId }: Owner): Promise<ApiClient> {
    const { appId } = await createApp(this.context, { accountId, name });
    return (await this.giveKey(name, { accountId, appId })).api;
  }

  /** Another key of an existing App. Each create with it may name an address that receives the generation's end. */
  async giveKey(name: string, { accountId, appId }: Owner, { webhookUrl, ...terms }: KeyTerms = {}): Promise<Leaving> {
    const { key, secret } = await createKey(this.context, { appId, name, ...terms });
    const { monthlyCap } = terms;
    const cap = monthlyCap === undefined ? {} : { monthlyCap };
    const party: Party = { name, keyId: key.keyId, accountId, appId, ...cap };
    this.parties.push(party);
    this.keepKey(name, secret);
    const api = new ApiClient(party, secret, this.urls, this.recorder, webhookUrl);
    this.clients.set(appId, this.clients.get(appId) ?? api);
    return { api, keyId: key.keyId };
  }

  /** A key that manages the webhooks of an App and does nothing else. */
  async webhookKey(name: string, { appId }: Owner): Promise<string> {
    const { secret } = await createKey(this.context, { appId, name, scopes: ['webhooks:manage'] });
    this.keepKey(name, secret);
    return secret;
  }

  /** Secrets that must not be written anywhere. */
  keep(secret: Secret): void {
    this.secrets.push(secret);
  }

  /** The generations of an App that clients know to be accepted, and requested after `since`. */
  accepted(appId: string, since: number): string[] {
    const names = new Set(this.parties.filter((party) => party.appId === appId).map(({ name }) => name));
    return this.recorder
      .sent('create')
      .filter(({ by, sentAt, answered }) => names.has(by) && sentAt > since && answered?.answer.status === 202)
      .map(({ answered }) => textOf(answered?.answer.data?.['generation_id']));
  }

  private keepKey(name: string, secret: string): void {
    this.keep({ name: `the key of ${name}`, text: secret.slice(PREFIX_LENGTH, PREFIX_LENGTH + BODY_LENGTH) });
  }

  /** Retries, because the operator may not reach the store either. */
  async revoke({ api, keyId }: Leaving, signal: AbortSignal): Promise<void> {
    const askedAt = this.recorder.now();
    for (;;) {
      try {
        await revokeKey(this.context, keyId);
        this.revocations.push({ by: api.party.name, askedAt, doneAt: this.recorder.now() });
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        await sleep(BETWEEN_TRIES_MS, undefined, { signal });
      }
    }
  }

  /** The first key of a party's App, which is never revoked. */
  clientOf(name: string): ApiClient {
    const party = this.parties.find((candidate) => candidate.name === name);
    const client = party && this.clients.get(party.appId);
    if (!client) throw new Error(`Nobody is called ${name}.`);
    return client;
  }

  /**
   * Sends this many creates at once for each model without enough open generations, through both processes. Each is
   * retried a few times while it gets no answer. `uploadId` is for references.
   */
  async askVendors(
    api: ApiClient,
    models: readonly VendorModel[],
    { uploadId, times, pause }: AskedOfVendors,
  ): Promise<void> {
    const open = await Promise.all(models.map((model) => this.lookAtOpen(api, model)));
    const wanted = models.filter((_, index) => (open[index]?.size ?? 0) < OPEN_OF_A_MODEL);
    const all = Array.from({ length: times }, () => wanted).flat();
    await Promise.all(
      all.map(async (model, index) => {
        const key = randomUUID();
        const body = vendorWish(model, key, { uploadId });
        const created = await insist((tries) => api.create(throughEither(index + tries), key, body), patience(pause));
        if (created?.status === 202) this.openOf(model).add(textOf(created.data?.['generation_id']));
      }),
    );
  }

  private openOf(model: VendorModel): Set<string> {
    const open = this.openAtVendors.get(model) ?? new Set();
    this.openAtVendors.set(model, open);
    return open;
  }

  private async lookAtOpen(api: ApiClient, model: VendorModel): Promise<Set<string>> {
    const open = this.openOf(model);
    await Promise.all(
      [...open].map(async (generationId, index) => {
        const { data } = (await api.get(throughEither(index), generationId)) ?? {};
        if (data && taskHasEnded(textOf(data['status']))) open.delete(generationId);
      }),
    );
    return open;
  }

  /**
   * Creates generations of the given models that can be stopped, and cancels each after it has run for a moment,
   * or after a few polls.
   */
  async cancelAtVendors(
    api: ApiClient,
    models: readonly VendorModel[],
    pause: (ms: number) => Promise<void>,
  ): Promise<void> {
    const stoppable = STOPPABLE_VENDOR_MODEL_KEYS.filter((model) => models.includes(model));
    const all = Array.from({ length: CANCELLED_OF_EACH }, () => stoppable).flat();
    await Promise.all(
      all.map(async (model, index) => {
        const key = randomUUID();
        const created = await insist(
          (tries) => api.create(throughEither(index + tries), key, vendorWish(model, key)),
          patience(pause),
        );
        const generationId = textOf(created?.data?.['generation_id'] ?? '');
        if (generationId === '') return;
        for (let looks = 0; looks < LOOKS_BEFORE_CANCEL; looks += 1) {
          const status = (await api.get(throughEither(looks), generationId))?.data?.['status'];
          await pause(BETWEEN_TRIES_MS);
          if (status !== undefined && status !== 'queued') break;
        }
        await insist((tries) => api.cancel(throughEither(index + tries), generationId), patience(pause));
      }),
    );
  }

  /** Sends more creates at once than the providers of the route accept, from a party that can pay for them. */
  async fillRoute(): Promise<void> {
    const rich = this.clientOf('rich');
    const keys = Array.from({ length: MORE_THAN_THE_ROUTE }, () => randomUUID());
    await Promise.all(
      keys.map((key, index) => rich.create(throughEither(index), key, vendorWish('vendor-route', key))),
    );
  }

  /**
   * Sends more creates at once than the account can pay for, or the key may spend, through both processes, each once.
   * Returns whether the burst was exact: every create was answered at once, without retries.
   */
  async burst(api: ApiClient, { balance, creates, cost, mayBeExact }: BurstTerms): Promise<boolean> {
    const keys = Array.from({ length: creates }, () => randomUUID());
    const answers = await Promise.all(
      keys.map((key, index) => api.create(throughEither(index), key, slowWish(cost, 1_500, key))),
    );
    const isExact = mayBeExact && answers.every((answer) => answer?.status === 202 || answer?.status === 402);
    this.bursts.push({ by: api.party.name, keys, cost, balance, isExact });
    return isExact;
  }
}

function throughEither(index: number): RestName {
  return index % 2 === 0 ? 'rest-1' : 'rest-2';
}

function patience(pause: (ms: number) => Promise<void>): Insistence {
  return { mostTries: MOST_TRIES, betweenMs: BETWEEN_TRIES_MS, pause };
}
