import { createHash } from 'node:crypto';
import { openPostgres, type PostgresStores } from '../../adapters/postgres/open-postgres.js';
import { SystemClock } from '../../adapters/system/system-clock.js';
import { SystemIds } from '../../adapters/system/system-ids.js';
import type { Account } from '../../core/credits/account.js';
import { AccountWriter } from '../../core/credits/account-writer.js';
import type { Generation } from '../../core/generation/generation.js';
import { projectUsage } from '../../core/usage/project-usage.js';
import { answerCommands } from '../child.js';
import { usageOfThisProcess } from '../usage.js';
import { type History, HISTORY_READS, type HistoryReadName } from './postgres-history.js';
import { recordedStates } from './recorded-states.js';

/**
 * Writes whole generations into the stores of a PostgreSQL database in the same steps as core: the acceptance, the replacements
 * of the record, and the charge. The program first makes one generation in a data folder, and its records are the template.
 * Arguments: the URL of the database, and the data folder.
 */
const [url = '', dataFolder = ''] = process.argv.slice(2);

const PLENTY = 1_000_000_000_000;
const CLAIM_MS = 86_400_000;
const [clock, ids] = [new SystemClock(), new SystemIds()];

const [accepted, ...replacements] = (await recordedStates(dataFolder)) as [Generation, ...Generation[]];
const charged = replacements.at(-1)?.chargedCredits ?? 0;
const appId = ids.uuid();
let accounts: readonly string[] = [];
let stores: PostgresStores | undefined;
let writer: AccountWriter | undefined;

export interface OperationsDone {
  readonly count: number;
  readonly elapsedMs: number;
  readonly cpuMicros: number;
  readonly timesMicros: readonly number[];
}

async function writeGeneration(
  { generations }: PostgresStores,
  money: AccountWriter,
  accountId: string,
): Promise<void> {
  const generationId = ids.uuid();
  const now = clock.now();
  const of = { generationId, accountId, appId, createdAt: now, updatedAt: now } as const;
  const { reservedCredits: credits, modelKey } = accepted;
  const outcome = await money.accept(
    { kind: 'hold', generationId, credits, maxOpenHolds: 1_000, attribution: { credentialId: appId, appId, modelKey } },
    {
      claim: {
        accountId,
        appId,
        operation: 'create',
        key: generationId,
        version: 1,
        digest: createHash('sha256').update(generationId).digest('base64url'),
        subjectId: generationId,
        createdAt: now,
        leaseExpiresAt: 0,
        removeAt: now + CLAIM_MS,
      },
      generation: { ...accepted, ...of, dueAt: now + CLAIM_MS },
      claimStands: false,
    },
  );
  if (outcome instanceof Error || outcome.refused !== undefined) throw new Error('A generation was refused.');
  for (const state of replacements) {
    // The charge is written before the state that marks the generation as settled.
    if (state.settledAt !== undefined)
      await money.execute(accountId, { kind: 'settle', generationId, charge: charged });
    const next = { ...state, ...of, dueAt: now + CLAIM_MS + state.version };
    if ((await generations.replace(next, state.version - 1)) === 'conflict') throw new Error('Nobody else writes it.');
  }
}

interface HistoryReads {
  readonly what: HistoryReadName;
  readonly history: History;
}

interface Load {
  readonly clients: number;
  readonly durationMs: number;
}

/** Calls `once` again and again from each client until the time is over. */
async function repeated({ clients, durationMs }: Load, once: () => Promise<void>): Promise<OperationsDone> {
  const before = usageOfThisProcess();
  const beganAt = performance.now();
  const timesMicros: number[] = [];
  const client = async (): Promise<void> => {
    while (performance.now() - beganAt < durationMs) {
      const at = performance.now();
      await once();
      timesMicros.push(Math.round((performance.now() - at) * 1_000));
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return {
    count: timesMicros.length,
    elapsedMs: performance.now() - beganAt,
    cpuMicros: usageOfThisProcess().cpuMicros - before.cpuMicros,
    timesMicros,
  };
}

const commands = {
  /** Connects; the first call also creates `count` accounts. */
  async open({ count }: { readonly count: number }): Promise<void> {
    const opened = await openPostgres({ url });
    stores = opened;
    writer = new AccountWriter({ ...opened, clock });
    if (accounts.length > 0) return;
    accounts = Array.from({ length: count }, () => ids.uuid());
    await Promise.all(accounts.map((accountId) => opened.accounts.create(accountOf(accountId))));
  },

  /** Writes generations, each for a random account. */
  async write(load: Load): Promise<OperationsDone> {
    if (stores === undefined || writer === undefined) throw new Error('It is not open.');
    const [into, money] = [stores, writer];
    return repeated(load, () =>
      writeGeneration(into, money, accounts[Math.floor(Math.random() * accounts.length)] as string),
    );
  },

  /** Reads from a history that the database was filled with. */
  async read({ what, history, ...load }: Load & HistoryReads): Promise<OperationsDone> {
    if (stores === undefined) throw new Error('It is not open.');
    const from = stores;
    let found = 0;
    const done = await repeated(load, async () => {
      found += await HISTORY_READS[what](from, history);
    });
    if (found === 0 && what !== 'recovery') throw new Error(`Nothing was found: ${what}.`);
    return done;
  },

  /** Adds the entries of all accounts to their usage rows, with `clients` accounts in parallel. */
  async takeIn({ clients }: { readonly clients: number }): Promise<void> {
    if (stores === undefined) throw new Error('It is not open.');
    const ports = { ...stores, call: undefined };
    const left = [...accounts];
    const client = async (): Promise<void> => {
      for (let accountId = left.pop(); accountId !== undefined; accountId = left.pop()) {
        const account = await ports.accounts.read(accountId, undefined, 'totals');
        await projectUsage(ports, { accountId, list: 'uses', through: account?.lastSequence ?? 0 });
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
  },

  /** Disconnects, which completes the server's statistics. */
  async close(): Promise<void> {
    await stores?.close();
    stores = undefined;
  },

  usage: usageOfThisProcess,
};

export type WholeGenerationsCommands = typeof commands;

answerCommands(commands, () => commands.close());

function accountOf(accountId: string): Account {
  return {
    accountId,
    version: 0,
    name: 'bench',
    currency: 'credits',
    createdAt: clock.now(),
    issued: PLENTY,
    available: PLENTY,
    reserved: 0,
    spent: 0,
    lastSequence: 0,
    holds: new Map(),
  };
}
