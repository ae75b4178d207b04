import { MemoryAccountStore } from '../../../adapters/memory/memory-account-store.js';
import { MemoryClaimStore } from '../../../adapters/memory/memory-claim-store.js';
import { MemoryCredentialStore } from '../../../adapters/memory/memory-credential-store.js';
import { MemoryGenerationStore } from '../../../adapters/memory/memory-generation-store.js';
import { MemoryObjectStore } from '../../../adapters/memory/memory-object-store.js';
import { MemoryUploadStore } from '../../../adapters/memory/memory-upload-store.js';
import { MemoryWakeUps } from '../../../adapters/memory/memory-wake-ups.js';
import { MemoryWakeUpTable } from '../../../adapters/memory/wake-up-table.js';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { SystemDigests } from '../../../adapters/system/system-digests.js';
import { SCOPES, type Caller } from '../../../core/access/credential.js';
import { createContext, type Context } from '../../../core/context.js';
import type { Catalog } from '../../../core/ports/catalog.js';
import { DEFAULT_SETTINGS } from '../../../core/settings.js';
import { imageModel } from '../../fixtures/core-models.js';
import { intercepted, type Interceptor } from '../../fixtures/intercepted.js';
import { PlainMediaProbe } from '../../fixtures/plain-media.js';
import { ScriptedProvider } from '../../fixtures/scripted-provider.js';
import { SmallProcess } from './small-process.js';
import type { Snapshot } from './state-checks.js';
import { Witness } from './witness.js';

const START = Date.UTC(2030, 0, 1);
const ALL = { limit: 1_000 };

export const SETTINGS = DEFAULT_SETTINGS;
/** One leap of time is longer than any lease, and makes every hold old enough for recovery. */
export const LEAP_MS = SETTINGS.claimLeaseMs + SETTINGS.recoveryGraceMs + 1_000;

const ACCOUNT_ID = '01900000-0000-7000-9000-000000000001';
export const CALLER: Caller = { accountId: ACCOUNT_ID, appId: '01900000-0000-7000-9000-000000000002', credentialId: '01900000-0000-7000-9000-000000000003', scopes: SCOPES };

// What never changes is shared by all worlds: there is a new one for every run.
const MODEL = imageModel();
const CATALOG: Catalog = { models: () => [MODEL], find: (key) => (key === MODEL.modelKey ? MODEL : undefined) };
const SHARED = {
  catalog: CATALOG, mediaProbe: new PlainMediaProbe(),
  digests: new SystemDigests({ secret: new Uint8Array(32).fill(7) }), jsonSchemas: new AjvJsonSchemas(), credentials: new MemoryCredentialStore(),
};
const LOG = { info: () => undefined, warn: () => undefined };

/** One set of stores with one account, one provider, one time, and whoever watches all of it. */
export class SmallWorld {
  readonly time = { now: START };
  readonly accounts = new MemoryAccountStore();
  readonly generations = new MemoryGenerationStore();
  readonly claims = new MemoryClaimStore();
  readonly provider = new ScriptedProvider();
  readonly table = new MemoryWakeUpTable();
  readonly witness = new Witness(async (generationId) => (await this.account()).holds.has(generationId));
  private readonly uploads = new MemoryUploadStore();
  private readonly objects = new MemoryObjectStore({ clock: { now: () => this.time.now, after: () => () => undefined } });

  async open(credits: number): Promise<void> {
    const none = { issued: 0, available: 0, reserved: 0, spent: 0 };
    await this.accounts.create({ accountId: ACCOUNT_ID, name: 'Small', currency: 'credits', createdAt: START, version: 0, ...none, lastSequence: 0, holds: new Map() });
    await this.accounts.apply({
      accountId: ACCOUNT_ID, expectedVersion: 0, version: 1, ...none, issued: credits, available: credits, lastSequence: 1, holdsOpened: [], holdsClosed: [],
      entries: [{ accountId: ACCOUNT_ID, sequence: 1, kind: 'grant', from: 'issued', to: 'available', credits, at: START, availableAfter: credits, operationId: 'grant' }],
    });
  }

  /** What core works with in this process: every port call it makes goes through the process. */
  contextOf(process: SmallProcess): Context {
    const { uploads, objects, provider, accounts, generations, claims } = this;
    const wrap = <Port extends object>(name: string, port: Port): Port => intercepted(name, port, process.interceptor);
    const wrapped = wrap('provider', provider);
    const ports = {
      ...SHARED,
      accounts: wrap('accounts', accounts), generations: wrap('generations', generations), claims: wrap('claims', claims),
      uploads: wrap('uploads', uploads), objects: wrap('objects', objects),
      wakeUps: wrap('wakeUps', new MemoryWakeUps({ clock: process.clock('wake-ups'), table: this.table })),
      providers: { find: () => wrapped },
      clock: process.clock('core'), ids: process.ids,
    };
    return createContext(ports, SETTINGS, LOG);
  }

  /** A process whose calls are answered at once, for when nothing goes wrong any more. */
  directProcess(name: string, number: number): SmallProcess {
    const direct: Interceptor = async (call) => {
      const answer = await call.proceed();
      await this.witness.effect(name, call, answer);
      return answer;
    };
    return new SmallProcess(name, number, this.time, direct);
  }

  async snapshot(): Promise<Snapshot> {
    const entries = (await this.accounts.entries(ACCOUNT_ID, ALL)).items;
    return { account: await this.account(), entries, records: await this.generations.due(Number.MAX_SAFE_INTEGER, 1_000) };
  }

  /** When each generation is due to be looked at, and which of all schedules said so. */
  wakeUps(): string {
    const ids = [...this.witness.scheduled.keys()];
    return ids.map((id) => `${id} ${this.table.nextAt(new Set(ids.filter((other) => other !== id)))} ${this.witness.scheduled.get(id)}`).join();
  }

  private async account(): Promise<Snapshot['account']> {
    const account = await this.accounts.read(ACCOUNT_ID);
    if (!account) throw new Error('The account is gone.');
    return account;
  }
}
