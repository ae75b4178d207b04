import { type Caller, SCOPES } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import { DEFAULT_SETTINGS } from '../../../core/settings.js';
import { MemoryAcceptances } from '../../adapters/memory/generation-stores.js';
import { MemoryWakeUps, MemoryWakeUpTable } from '../../adapters/memory/wake-ups.js';
import { intercepted, interceptedProvider, interceptedStores, type Interceptor } from '../../fixtures/intercepted.js';
import { memoryStores, type MemoryStores } from '../../fixtures/memory-stores.js';
import { catalogOf, imageModel } from '../../fixtures/models.js';
import { oneProvider, ScriptedProvider } from '../../fixtures/scripted-provider.js';
import { openDarkroom } from '../../harness/darkroom.js';
import type { Case } from './cases.js';
import { SmallProcess } from './small-process.js';
import type { Snapshot } from './state-checks.js';
import { Witness } from './witness.js';

const START = Date.UTC(2030, 0, 1);
const ALL = { limit: 1_000 };

export const SETTINGS = DEFAULT_SETTINGS;
/** Time advances only by leaps, so a delayed charge would be written after one, and most states would be left out. */
const NO_SETTLE_WAIT_MS = 0;
/** One leap of time is longer than any lease, and makes every hold old enough for recovery. */
export const LEAP_MS = SETTINGS.claimLeaseMs + SETTINGS.recoveryGraceMs + 1_000;

const ACCOUNT_ID = '01900000-0000-7000-9000-000000000001';
export const CALLER: Caller = {
  accountId: ACCOUNT_ID,
  appId: '01900000-0000-7000-9000-000000000002',
  credentialId: '01900000-0000-7000-9000-000000000003',
  scopes: SCOPES,
};

// Shared by all services, because every run creates one: a schema is compiled once per model object.
const MODELS = [imageModel()];

/** One set of stores with one account, one provider, one time, and the witness of all of it. */
export class SmallService {
  readonly time = { now: START };
  private readonly stores: MemoryStores;
  readonly provider = new ScriptedProvider();
  readonly table = new MemoryWakeUpTable();
  readonly witness = new Witness(async (generationId) => (await this.account()).holds.has(generationId));

  constructor({ oneStep }: Pick<Case, 'oneStep'>) {
    const stores = memoryStores({
      now: () => this.time.now,
      monotonic: () => this.time.now,
      after: () => () => undefined,
    });
    this.stores = oneStep ? { ...stores, acceptances: new MemoryAcceptances(stores) } : stores;
  }

  async open(credits: number): Promise<void> {
    const none = { issued: 0, available: 0, reserved: 0, spent: 0 };
    const { accounts } = this.stores;
    await accounts.create({
      accountId: ACCOUNT_ID,
      name: 'Small',
      currency: 'credits',
      createdAt: START,
      version: 0,
      ...none,
      lastSequence: 0,
      holds: new Map(),
    });
    await accounts.apply({
      accountId: ACCOUNT_ID,
      expectedVersion: 0,
      version: 1,
      ...none,
      issued: credits,
      available: credits,
      lastSequence: 1,
      holdsOpened: [],
      holdsClosed: [],
      entries: [
        {
          accountId: ACCOUNT_ID,
          sequence: 1,
          kind: 'grant',
          from: 'issued',
          to: 'available',
          credits,
          at: START,
          availableAfter: credits,
          operationId: 'grant',
        },
      ],
    });
  }

  /** Core's context in this process: every port call goes through the process. */
  contextOf(process: SmallProcess): Context {
    const { interceptor } = process;
    const provider = interceptedProvider(this.provider, interceptor);
    return openDarkroom({
      ports: {
        ...interceptedStores(this.stores, interceptor),
        wakeUps: intercepted(
          'wakeUps',
          new MemoryWakeUps({ clock: process.clock('wake-ups'), table: this.table }),
          interceptor,
        ),
        providers: oneProvider(provider),
        catalog: catalogOf(() => MODELS),
        clock: process.clock('core'),
        ids: process.ids,
      },
      settings: SETTINGS,
      settleWaitMs: NO_SETTLE_WAIT_MS,
    });
  }

  /** A process whose calls are answered at once, for when nothing fails any more. */
  directProcess(name: string, number: number): SmallProcess {
    const direct: Interceptor = async (call) => {
      const answer = await call.proceed();
      await this.witness.effect(name, call, answer);
      return answer;
    };
    return new SmallProcess(name, number, this.time, direct);
  }

  async snapshot(): Promise<Snapshot> {
    const entries = (await this.stores.accounts.entries(ACCOUNT_ID, ALL)).items;
    return {
      account: await this.account(),
      entries,
      records: await this.stores.generations.due(Number.MAX_SAFE_INTEGER, 1_000),
    };
  }

  /** When each generation is due, and which of its schedules set that time. */
  wakeUps(): string {
    const ids = [...this.witness.scheduled.keys()];
    return ids
      .map(
        (id) =>
          `${id} ${this.table.nextAt(new Set(ids.filter((other) => other !== id)))} ${this.witness.scheduled.get(id)}`,
      )
      .join();
  }

  private async account(): Promise<Snapshot['account']> {
    const account = await this.stores.accounts.read(ACCOUNT_ID);
    if (!account) throw new Error('The account is gone.');
    return account;
  }
}
