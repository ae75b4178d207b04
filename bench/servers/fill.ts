import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from '../../apps/worker/worker.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import type { Generation } from '../../core/generation/generation.js';
import { answerCommands } from '../child.js';
import { createCredential, type Credential, openBenchProgram } from './program.js';
import { callerOf, SAMPLE_REQUEST } from './sample.js';

/** Fills the data folder named on the command line with generations that have ended, and leaves. */
const { program, config } = await openBenchProgram(process.argv[2] ?? '');
const { context } = program;

const ACCOUNTS = 16;
const UNDER_WAY = 4_096;
const MAX_SAMPLES = 5_000;

export interface Filled {
  readonly count: number;
  readonly elapsedMs: number;
  /** One of the accounts, and some of its generations. */
  readonly credential: Credential;
  readonly generationIds: readonly string[];
}

/** One that really ran: created, rendered, stored, charged and settled by the program. */
async function finishedGeneration(credential: Credential): Promise<Generation> {
  const worker = new Worker(context, { ...config.worker, workerId: `bench-${process.pid}` });
  await worker.start();
  const { generation } = await createGeneration(context, callerOf(credential), randomUUID(), SAMPLE_REQUEST);
  for (;;) {
    const record = await context.generations.read(generation.generationId);
    if (record?.kind === 'generation' && record.settledAt !== undefined) {
      await worker.stop();
      return record;
    }
    await sleep(5);
  }
}

/** The data that a completed generation leaves in the store: its claim, its ledger entries and its record. */
async function addCopy(template: Generation, { accountId, appId }: Credential): Promise<string> {
  const { reservedCredits: credits, chargedCredits: charge, createdAt } = template;
  const generationId = context.ids.uuid();
  const { claimLeaseMs, claimRetentionMs } = context.settings;
  await context.claims.insert({
    accountId,
    appId,
    operation: 'create',
    key: randomUUID(),
    version: 1,
    digest: context.digests.keyed(generationId),
    subjectId: generationId,
    createdAt,
    leaseExpiresAt: createdAt + claimLeaseMs,
    removeAt: createdAt + claimRetentionMs,
  });
  await context.accountWriter.execute(accountId, {
    kind: 'hold',
    generationId,
    credits,
    maxOpenHolds: UNDER_WAY,
    attribution: { credentialId: 'fill', modelKey: 'fill' },
  });
  await context.generations.insert({ ...template, generationId, accountId, appId });
  await context.accountWriter.execute(accountId, { kind: 'settle', generationId, charge });
  return generationId;
}

const commands = {
  /** Adds so many, or as many as there is time for. */
  async fill({ count, limitMs }: { readonly count: number; readonly limitMs: number }): Promise<Filled> {
    const beganAt = performance.now();
    const credentials: Credential[] = [];
    while (credentials.length < ACCOUNTS) credentials.push(await createCredential(program));
    const credential = credentials[0] as Credential;
    const template = await finishedGeneration(credential);
    const generationIds: string[] = [];
    const sampleEvery = Math.max(1, Math.floor(count / ACCOUNTS / MAX_SAMPLES)) * ACCOUNTS;
    let begun = 0;

    const addMany = async (): Promise<void> => {
      while (begun < count && performance.now() - beganAt < limitMs) {
        const index = begun;
        begun += 1;
        const id = await addCopy(template, credentials[index % ACCOUNTS] as Credential);
        if (index % sampleEvery === 0) generationIds.push(id);
      }
    };
    await Promise.all(Array.from({ length: UNDER_WAY }, addMany));
    return { count: begun, elapsedMs: performance.now() - beganAt, credential, generationIds };
  },
};

export type FillCommands = typeof commands;

answerCommands(commands, () => program.close());
