import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp, createKey, revokeKey } from '../../../core/access/manage.js';
import type { Context } from '../../../core/context.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { newOwner, type Owner } from '../../fixtures/owner.js';
import type { Burst, Facts, Party } from '../history/history.js';
import type { RestName } from '../rounds/schedule.js';
import { VENDOR_MODEL_KEYS } from '../vendors/vendor-models.js';
import { ApiClient } from './api-client.js';
import type { Recorder } from './recorder.js';
import { slowWish, vendorWish } from './wishes.js';

type Secret = Facts['secrets'][number];
type Revocation = Facts['revocations'][number];

/** What tells that text was written where no secret may be: the part of a key that nobody can guess. */
const PREFIX_LENGTH = 'svc_live_'.length;
const BODY_LENGTH = 43;
const BETWEEN_TRIES_MS = 100;
const MORE_THAN_THE_ROUTE = 12;

/** A key that an operator is going to revoke. */
export interface Leaving {
  readonly api: ApiClient;
  readonly keyId: string;
}

export interface BurstTerms {
  readonly balance: number;
  readonly creates: number;
  readonly cost: number;
  /** Whether it is made while nothing goes wrong. */
  readonly mayBeExact: boolean;
}

/** The accounts and clients of one run, created by the operator, and what the test knows of them. */
export class ClientPool {
  readonly parties: Party[] = [];
  readonly granted: Record<string, number> = {};
  readonly secrets: Secret[] = [];
  readonly revocations: Revocation[] = [];
  readonly bursts: Burst[] = [];
  private readonly clients = new Map<string, ApiClient>();

  constructor(
    private readonly context: Context,
    private readonly urls: Readonly<Record<RestName, string>>,
    private readonly recorder: Recorder,
  ) {}

  /** By the clock of everything that is written down. */
  now(): number {
    return this.recorder.now();
  }

  /** Somebody with an account of their own, and perhaps a cap on what their key may spend of it. */
  async openAccount(name: string, credits: number, monthlyCap?: number): Promise<ApiClient> {
    const owner = await newOwner(this.context, name, credits);
    this.granted[owner.accountId] = credits;
    return (await this.giveKey(name, owner, monthlyCap)).api;
  }

  /** Another App of somebody's account: the credits are shared, and nothing else. */
  async addApp(name: string, { accountId }: Owner): Promise<ApiClient> {
    const { appId } = await createApp(this.context, { accountId, name });
    return (await this.giveKey(name, { accountId, appId })).api;
  }

  /** Another key of somebody's App. */
  async giveKey(name: string, { accountId, appId }: Owner, monthlyCap?: number): Promise<Leaving> {
    const cap = monthlyCap === undefined ? {} : { monthlyCap };
    const { key, secret } = await createKey(this.context, { appId, name, ...cap });
    const party: Party = { name, keyId: key.keyId, accountId, appId, ...cap };
    this.parties.push(party);
    this.secrets.push({ name: `the key of ${name}`, text: secret.slice(PREFIX_LENGTH, PREFIX_LENGTH + BODY_LENGTH) });
    const api = new ApiClient(party, secret, this.urls, this.recorder);
    this.clients.set(appId, this.clients.get(appId) ?? api);
    return { api, keyId: key.keyId };
  }

  /** Again and again, where the operator cannot reach the store either. */
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

  /** A create for each model of a vendor, all at once, through both processes. */
  async askVendors(api: ApiClient): Promise<void> {
    await Promise.all(
      VENDOR_MODEL_KEYS.map((model, index) => {
        const key = randomUUID();
        return api.create(index % 2 === 0 ? 'rest-1' : 'rest-2', key, vendorWish(model, 1, key));
      }),
    );
  }

  /** More creates at once than the providers of the route take, by somebody who can pay them. */
  async fillRoute(): Promise<void> {
    const rich = this.clientOf('rich');
    const keys = Array.from({ length: MORE_THAN_THE_ROUTE }, () => randomUUID());
    await Promise.all(
      keys.map((key, index) =>
        rich.create(index % 2 === 0 ? 'rest-1' : 'rest-2', key, vendorWish('vendor-route', 1, key)),
      ),
    );
  }

  /**
   * More creates at once than the account can pay, or the key may spend, through both processes, each once. Answers whether it was exact: all
   * were answered at once, and nobody had to ask again.
   */
  async burst(api: ApiClient, { balance, creates, cost, mayBeExact }: BurstTerms): Promise<boolean> {
    const keys = Array.from({ length: creates }, () => randomUUID());
    const answers = await Promise.all(
      keys.map((key, index) => api.create(index % 2 === 0 ? 'rest-1' : 'rest-2', key, slowWish(cost, 1_500, key))),
    );
    const isExact = mayBeExact && answers.every((answer) => answer?.status === 202 || answer?.status === 402);
    this.bursts.push({ by: api.party.name, keys, cost, balance, isExact });
    return isExact;
  }
}
